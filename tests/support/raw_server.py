"""A server that speaks bytes, so that a test can get every one of them wrong."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

from support.waiting import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """One accepted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: list[bytes]) -> None:
        self.reader = reader
        self.writer = writer
        self.requests = requests

    async def request(self) -> bytes:
        """The next request, whole. Raises IncompleteReadError or ConnectionError when none comes."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\nContent-Length: (\d+)\r\n", head)
        body = await self.reader.readexactly(int(length[1])) if length else b""
        self.requests.append(head + body)
        return head + body

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def answer(self, *pieces: bytes) -> None:
        """Waits for a request, and answers it."""
        await self.request()
        await self.send(*pieces)

    async def until_closed(self) -> None:
        """Waits for the client to close the connection."""
        while await self.reader.read(1 << 16):
            pass

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Breaks the connection off, which the client sees as an error and not as its end."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


class RawServer:
    """Talks to each connection as `scripts` say, the last one for ever; its end closes the connection.

    `connections` are the ones ever accepted, `open` those that neither side has closed.
    """

    def __init__(self, scripts: list[Script], scheme: str) -> None:
        self.scripts = scripts
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.port = 0
        self._scheme = scheme

    @property
    def url(self) -> str:
        return f"{self._scheme}://localhost:{self.port}" if self._scheme == "https" else f"http://127.0.0.1:{self.port}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = self.scripts[min(self.connections, len(self.scripts) - 1)]
        self.connections += 1
        self.open += 1
        try:
            await script(Peer(reader, writer, self.requests))
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def until_all_closed(self) -> None:
        await until(lambda: not self.open, what="all connections closed")


async def keep_answering(peer: Peer) -> None:
    while True:
        await peer.answer(OK)


def answering(*pieces: bytes) -> Script:
    """A script that gives every request the same answer, in pieces."""

    async def script(peer: Peer) -> None:
        while True:
            await peer.answer(*pieces)

    return script


def answering_once(*pieces: bytes) -> Script:
    """A script that answers one request, and ends the connection with it."""

    async def script(peer: Peer) -> None:
        await peer.answer(*pieces)

    return script


async def never_answer(peer: Peer) -> None:
    await peer.request()
    await peer.until_closed()


@contextlib.asynccontextmanager
async def raw_server(
    *scripts: Script, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawServer]:
    server = RawServer(list(scripts), "https" if tls else "http")
    talks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        talks.add(task)
        with contextlib.suppress(asyncio.CancelledError):
            await server.talk(reader, writer)
        talks.discard(task)

    listener = await asyncio.start_server(accept, host, 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in talks:
            task.cancel()
        if talks:
            await asyncio.wait(talks)
