"""An HTTP server on loopback that records what it gets and answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web
from multidict import CIMultiDictProxy

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Recorded:
    method: str
    target: str
    headers: CIMultiDictProxy[str]
    body: bytes


def reply(status: int = 200, body: str | bytes = b"", **headers: str) -> Reply:
    raw = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=raw, headers=named)

    return answer


async def reset(request: web.Request) -> web.StreamResponse:
    """Cuts the connection instead of answering."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def hang(_: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("not reached")


@dataclass
class RecordingServer:
    """Use as `async with`; `url` is its base URL, also after it was stopped, when nothing listens there."""

    answer: Reply = field(default_factory=reply)
    seen: list[Recorded] = field(default_factory=list)
    url: str = ""
    _runner: web.AppRunner | None = None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(Recorded(request.method, request.raw_path, request.headers, await request.read()))
        return await self.answer(request)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def header(self, name: str) -> list[str]:
        """What the requests so far had in a header."""
        return [value for one in self.seen for value in one.headers.getall(name, [])]

    def only(self) -> Recorded:
        [one] = self.seen
        return one
