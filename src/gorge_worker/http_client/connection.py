"""One connection, which carries one call after the other."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import cast

from gorge_worker.http_client.answers import HttpAnswer, HttpError, NoAnswer
from gorge_worker.http_client.reader import AnswerReader

CHUNK = 1 << 18
"""Bytes of a body that are written at once. There is no more of it in memory than this, besides the body itself."""


class Connection(asyncio.Protocol):
    """`on_lost` is called when its socket has been closed, by whichever side.

    `idle_since` is for the pool: the loop's time when it was last given back.
    """

    idle_since = 0.0

    def __init__(self, on_lost: Callable[[Connection], None]) -> None:
        self._on_lost = on_lost
        self._reader = AnswerReader()
        self._arrivals = select.poll()
        self._is_busy = False
        self._is_writable = True
        self._outcome: HttpAnswer | HttpError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._arrivals.register(transport.get_extra_info("socket"), select.POLLIN)

    @property
    def is_open(self) -> bool:
        return not self.transport.is_closing()

    def can_carry_more(self) -> bool:
        """Whether a used connection is still good. Looks at the socket itself: the loop may not have got round to
        reading that the server has closed it, or sent what nobody asked for.
        """
        return self.is_open and not self._arrivals.poll(0)

    def drop(self) -> None:
        """Closes it now, whatever is under way."""
        self.transport.abort()

    async def exchange(self, head: bytes, body: bytes | None, max_answer: int) -> HttpAnswer:
        """Sends a request and reads the whole answer, of at most `max_answer` bytes of body; writes at once.

        Afterwards the connection is open only if it can be used again. Raises NoAnswer or AnswerTooLarge.
        """
        self._reader.begin(max_answer)
        self._is_busy = True
        try:
            is_sent = await self._send(head, body or b"")
            answer = await self._result()
        except BaseException:
            self.drop()
            raise
        finally:
            self._is_busy = False
            self._outcome = None
        # Where the answer came before all of the request was on its way, the rest of it is not sent any more.
        if not (is_sent and self._reader.reusable):
            self.drop()
        return answer

    async def _send(self, head: bytes, body: bytes) -> bool:
        """Sends, and tells whether everything was sent: an outcome ends it."""
        if len(body) <= CHUNK:
            self.transport.write(head + body)
            return True
        self.transport.write(head)
        rest = memoryview(body)
        while rest and self._outcome is None:
            self.transport.write(rest[:CHUNK])
            rest = rest[CHUNK:]
            while not self._is_writable and self._outcome is None:
                await self._wait()
        return not rest

    async def _result(self) -> HttpAnswer:
        while self._outcome is None:
            await self._wait()
        if isinstance(self._outcome, HttpError):
            raise self._outcome
        return self._outcome

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _settle(self, outcome: HttpAnswer | HttpError) -> None:
        """What the call came to. The first word counts."""
        if self._is_busy and self._outcome is None:
            self._outcome = outcome
            self._wake()

    def data_received(self, data: bytes) -> None:
        if not self._is_busy or self._outcome is not None:
            self.drop()  # nobody asked for it
            return
        try:
            if answer := self._reader.feed(data):
                self._settle(answer)
        except HttpError as error:
            self._settle(error)

    def eof_received(self) -> None:
        if self._is_busy and self._outcome is None:
            try:
                self._settle(self._reader.end())
            except NoAnswer as error:
                self._settle(error)

    def connection_lost(self, exc: Exception | None) -> None:
        why = (str(exc) or type(exc).__name__) if exc else "it was closed"
        self._settle(NoAnswer(f"the connection broke: {why}"))
        self._on_lost(self)

    def pause_writing(self) -> None:
        self._is_writable = False

    def resume_writing(self) -> None:
        self._is_writable = True
        self._wake()
