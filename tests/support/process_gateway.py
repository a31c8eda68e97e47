"""A gateway between a worker and its queue, which sees every call and can cut answers off."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

LEASE = b"POST /api/queue/lease "
CHUNK = 1 << 16


@dataclass
class Call:
    request: bytearray = field(default_factory=bytearray)
    answer: bytearray = field(default_factory=bytearray)

    @property
    def is_lease(self) -> bool:
        return self.request.startswith(LEASE)

    @property
    def is_answered(self) -> bool:
        """Whether the queue has sent the whole answer."""
        head, end, body = self.answer.partition(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
        return bool(end) and len(body) >= int(length.partition(b":")[2])

    @property
    def has_tasks(self) -> bool:
        return b'"taskClass"' in self.answer


class Gateway:
    """Use as `async with`; `port` is where it listens. `cuts` is how many lease answers with tasks are still to be cut
    off in their middle, after the queue has sent them in full.
    """

    def __init__(self, queue_port: int) -> None:
        self.calls: list[Call] = []
        self.cuts = 0
        self.port = 0
        self._queue_port = queue_port
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def leases(self) -> list[Call]:
        return [call for call in self.calls if call.is_lease]

    @property
    def waiting(self) -> list[Call]:
        """The lease calls that the queue holds until there is a task."""
        return [call for call in self.leases if b'"wait":' in call.request and not call.is_answered]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._connected(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _connected(self, from_worker: asyncio.StreamReader, to_worker: asyncio.StreamWriter) -> None:
        """Passes everything on until one side ends or an answer is cut off; then both sides are closed."""
        try:
            from_queue, to_queue = await asyncio.open_connection("127.0.0.1", self._queue_port)
        except OSError:
            to_worker.transport.abort()
            return
        calls: list[Call] = []
        directions = [
            asyncio.create_task(self._pass_requests(calls, from_worker, to_queue)),
            asyncio.create_task(self._pass_answers(calls, from_queue, to_worker)),
        ]
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)
            to_worker.close()
            to_queue.close()

    async def _pass_requests(
        self, calls: list[Call], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(CHUNK):
            if not calls or calls[-1].answer:
                calls.append(Call())
                self.calls.append(calls[-1])
            calls[-1].request += chunk
            writer.write(chunk)
            await writer.drain()

    async def _pass_answers(
        self, calls: list[Call], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        held = b""
        while chunk := await reader.read(CHUNK):
            call = calls[-1]
            call.answer += chunk
            held += chunk
            if call.is_lease and self.cuts and not call.is_answered:
                continue
            if call.is_lease and self.cuts and call.has_tasks:
                self.cuts -= 1
                writer.write(held[: -len(held) // 4])
                await writer.drain()
                return
            writer.write(held)
            await writer.drain()
            held = b""
