"""Serving an application on an address, from the first connection to an orderly end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import structlog
from aiohttp import web

from gorge_worker.config.values import ListenAddress
from gorge_worker.web.connection import Connection, MalformedRequests
from gorge_worker.web.errors import enveloped
from gorge_worker.web.guard import Guard
from gorge_worker.web.listen import BACKLOG, listening_sockets
from gorge_worker.web.running import RunningRequests

log = structlog.get_logger()

STOP_TIMEOUT = 2.0
"""Seconds that a request under way gets when the server stops."""


@asynccontextmanager
async def serve(app: web.Application, guard: Guard) -> AsyncIterator[ListenAddress]:
    """Serves at the guard's address as long as the context lasts, and yields the address, port 0 resolved.

    At the end idle connections are closed at once and requests under way get STOP_TIMEOUT; nothing of them is left
    after it. Raises StartError when the address can't be taken.
    """
    sockets = await listening_sockets(guard.address)
    address = ListenAddress(guard.address.host, sockets[0].getsockname()[1])
    loop = asyncio.get_running_loop()
    # A request whose caller has gone is cancelled: nobody waits for its answer, and a lease must not go to nobody.
    # aiohttp waits for so long twice, before and after it has told a request that its body will not come.
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=STOP_TIMEOUT / 2)
    await runner.setup()
    server = cast("web.Server", runner.server)
    running, malformed = RunningRequests(), MalformedRequests()
    server.request_handler = running.watched(enveloped(server.request_handler))
    listeners: list[asyncio.Server] = []
    try:
        for one in sockets:
            listener = await loop.create_server(lambda: Connection(server, malformed, loop), sock=one, backlog=BACKLOG)
            listeners.append(listener)
        log.info("listening", address=str(address))
        _warn_when_open(guard, address)
        yield address
    finally:
        for listener in listeners:
            listener.close()
        connections = cast("list[Connection]", server.connections)
        await runner.cleanup()
        await running.ended(STOP_TIMEOUT)
        for connection in connections:
            connection.abort()


def _warn_when_open(guard: Guard, address: ListenAddress) -> None:
    if not guard.tokens and not address.loopback:
        log.warning(
            "listening beyond loopback without a token: whoever reaches the port can use the API; set SERVICE_TOKEN",
            address=str(address),
        )
