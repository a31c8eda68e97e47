"""Servers of the product in the test's own process, and the clients to talk to them."""

from __future__ import annotations

import asyncio
import io
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import msgspec
from aiohttp import web

from gorge_worker.config.values import ListenAddress
from gorge_worker.web.guard import Guard
from gorge_worker.web.queue_api import queue_app
from gorge_worker.web.serving import serve
from gorge_worker.web.worker_api import WorkerStats, worker_app
from support.fake_service import FakeService

if TYPE_CHECKING:
    from gorge_worker.queues.service import QueueService

LOOPBACK = ListenAddress("127.0.0.1", 0)
STATS = WorkerStats(processed=1, failed=2, active=3, supported=["A", "*"])


class Answer(msgspec.Struct):
    status: int
    headers: Any
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def data(self) -> Any:
        assert self.status == 200, self.body
        assert set(self.json()) == {"data"}
        return self.json()["data"]

    def error(self) -> tuple[int, str]:
        """Status and code, of an envelope that must be well formed."""
        envelope = self.json()
        assert set(envelope) == {"error"}, envelope
        assert set(envelope["error"]) == {"code", "message"}, envelope
        assert envelope["error"]["message"]
        return self.status, envelope["error"]["code"]

    def message(self) -> str:
        return str(self.json()["error"]["message"])


class Server:
    """A server that is up."""

    def __init__(self, port: int, session: aiohttp.ClientSession) -> None:
        self.port = port
        self.session = session

    async def call(self, method: str, path: str, **more: Any) -> Answer:
        async with self.session.request(method, path, allow_redirects=False, **more) as got:
            return Answer(got.status, got.headers, await got.read())

    async def get(self, path: str, **more: Any) -> Answer:
        return await self.call("GET", path, **more)

    async def post(self, route: str, body: Any, **more: Any) -> Answer:
        """A call of the queue's API; bytes are sent as they are."""
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"} | more.pop("headers", {})
        return await self.call("POST", f"/api/queue/{route}", data=io.BytesIO(raw), headers=headers, **more)

    async def raw(self, request: bytes) -> bytes:
        """What comes back for some bytes until the connection ends."""
        reader, writer = await self.connect(request)
        try:
            return await reader.read()
        finally:
            writer.close()

    async def connect(self, request: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        await writer.drain()
        return reader, writer


@asynccontextmanager
async def serving(app: web.Application, guard: Guard) -> AsyncIterator[Server]:
    async with serve(app, guard) as address, client(address.port) as server:
        yield server


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Server]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", auto_decompress=False) as session:
        yield Server(port, session)


@asynccontextmanager
async def worker_server(token: str = "", address: ListenAddress = LOOPBACK) -> AsyncIterator[Server]:
    guard = Guard(address, token)
    async with serving(worker_app(lambda: STATS, guard), guard) as server:
        yield server


def fake_queue_app(service: FakeService, guard: Guard) -> web.Application:
    return queue_app(cast("QueueService", service), guard, random.Random(1))


@asynccontextmanager
async def queue_server(
    service: FakeService, token: str = "", address: ListenAddress = LOOPBACK
) -> AsyncIterator[Server]:
    guard = Guard(address, token)
    async with serving(fake_queue_app(service, guard), guard) as server:
        yield server


def json_request(path: str, body: bytes, *, length: int | None = None, headers: str = "") -> bytes:
    """A POST as it goes over the wire."""
    size = len(body) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n"
    return f"{head}{headers}\r\n".encode() + body
