"""The beginning and the end of a server."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs
from support.fake_service import FakeService
from support.waiting import until
from support.web import LOOPBACK, STATS, client, fake_queue_app, json_request, worker_server

from gorge_worker.config.values import ListenAddress
from gorge_worker.errors import StartError
from gorge_worker.web.guard import Guard
from gorge_worker.web.serving import serve
from gorge_worker.web.worker_api import worker_app

EVERYWHERE = ListenAddress(None, 0)


@pytest.mark.parametrize(
    ("address", "token", "warned"), [(EVERYWHERE, "", True), (EVERYWHERE, "t", False), (LOOPBACK, "", False)]
)
async def test_an_open_door_is_warned_of_once(address: ListenAddress, token: str, *, warned: bool) -> None:
    with capture_logs() as logs:
        async with worker_server(token, address) as server:
            await server.get("/healthz")
    warnings = [one for one in logs if one["log_level"] == "warning"]
    assert len(warnings) == warned
    assert [one["address"] for one in logs if one["event"] == "listening"] == [
        str(ListenAddress(address.host, server.port))
    ]


async def test_a_port_in_use_stops_the_start() -> None:
    async with worker_server() as server:
        guard = Guard(ListenAddress("127.0.0.1", server.port), "")
        with pytest.raises(StartError, match="another program has this port"):
            async with serve(worker_app(lambda: STATS, guard), guard):
                pass


async def test_the_port_is_free_again_after_the_end() -> None:
    async with worker_server() as server:
        await server.get("/healthz")
    async with worker_server(address=ListenAddress("127.0.0.1", server.port)) as again:
        assert (await again.get("/healthz")).status == 200


async def test_idle_connections_end_with_the_server() -> None:
    guard = Guard(LOOPBACK, "")
    async with serve(worker_app(lambda: STATS, guard), guard) as address:
        fresh = await asyncio.open_connection("127.0.0.1", address.port)
        used = await asyncio.open_connection("127.0.0.1", address.port)
        used[1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        await used[0].readuntil(b"}")
    for reader, writer in (fresh, used):
        assert await reader.read() == b""
        writer.close()
    with pytest.raises(OSError, match=r"[Cc]onnect"):
        await asyncio.open_connection("127.0.0.1", address.port)


async def test_a_waiting_lease_is_answered_when_the_server_ends() -> None:
    service, guard = FakeService(), Guard(LOOPBACK, "")
    async with serve(fake_queue_app(service, guard), guard) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(json_request("/api/queue/lease", b'{"wait":30}'))
        await until(lambda: service.waiting, what="the lease waits")
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b'{"data":[]}')


async def test_a_request_under_way_is_finished() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        entered.set()
        await leave.wait()
        return web.Response(text="done")

    app, guard = web.Application(), Guard(LOOPBACK, "")
    app.router.add_get("/slow", slow)
    async with serve(app, guard) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await entered.wait()
        asyncio.get_running_loop().call_soon(leave.set)
    assert (await reader.read()).endswith(b"done")
    writer.close()


async def test_nothing_of_an_unread_answer_outlives_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.web.serving.STOP_TIMEOUT", 0.05)
    size = 8 << 20

    async def big(_: web.Request) -> web.Response:
        return web.Response(body=bytes(size))

    app, guard = web.Application(), Guard(LOOPBACK, "")
    app.router.add_get("/big", big)
    async with serve(app, guard) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port, limit=1000)
        writer.write(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
    assert await everything(reader) < size
    writer.close()


async def test_a_caller_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.web.connection.ANSWER_TIMEOUT", 0.1)
    size, ended = 8 << 20, asyncio.Event()

    class Watched(web.Response):
        async def write_eof(self, data: bytes = b"") -> None:
            try:
                await super().write_eof(data)
            finally:
                ended.set()

    async def big(_: web.Request) -> web.Response:
        return Watched(body=bytes(size))

    app, guard = web.Application(), Guard(LOOPBACK, "")
    app.router.add_get("/big", big)
    async with serve(app, guard) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port, limit=1000)
        writer.write(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        await ended.wait()
        assert await everything(reader) < size
        writer.close()


async def everything(reader: asyncio.StreamReader) -> int:
    """How many bytes come until the connection ends, in whatever way."""
    size = 0
    with contextlib.suppress(ConnectionResetError):
        while chunk := await reader.read(1 << 20):
            size += len(chunk)
    return size


async def test_a_request_that_does_not_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.web.serving.STOP_TIMEOUT", 0.05)
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def endless(_: web.Request) -> web.Response:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    app, guard = web.Application(), Guard(LOOPBACK, "")
    app.router.add_get("/endless", endless)
    async with serve(app, guard) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
        writer.write(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        await entered.wait()
    assert cancelled.is_set()
    assert await reader.read() == b""
    writer.close()


async def test_a_closed_server_refuses_clients() -> None:
    async with worker_server() as server:
        pass
    async with client(server.port) as late:
        with pytest.raises(aiohttp.ClientConnectionError):
            await late.get("/healthz")
