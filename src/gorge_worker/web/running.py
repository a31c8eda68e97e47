"""The requests that are being handled: a server's end is the end of all of them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from aiohttp import web

from gorge_worker.web.errors import AnyHandler


class RunningRequests:
    """Owns the set of tasks that handle requests.

    aiohttp cancels handlers when a server stops but does not wait for what they do about it: giving a lease back
    must happen before the store closes.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def watched(self, handler: AnyHandler) -> AnyHandler:
        async def run(request: web.BaseRequest) -> web.StreamResponse:
            task = cast("asyncio.Task[Any]", asyncio.current_task())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await handler(request)

        return run

    async def ended(self, within: float) -> None:
        """Returns when every request has ended, or after so many seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)
