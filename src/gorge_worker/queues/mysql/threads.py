"""Threads for calls that block. At the end nobody waits for one that hangs: the process must be able to end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Job(NamedTuple):
    work: Callable[[], Any]
    answer: asyncio.Future[Any]


class Threads:
    """At most `most` of them, started when they are needed. Unlike those of an executor they are daemons: what they
    have not finished by the end is a transaction without a commit, which the database undoes. Belongs to one event
    loop.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._started = 0
        self._unfinished = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self, work: Callable[[], T]) -> T:
        """Executes it on a thread. Who is cancelled has no answer, but the work goes on."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._unfinished += 1
        self._idle.clear()
        if self._unfinished > self._started and self._started < self._most:
            self._started += 1
            name = f"{self._name}-{self._started}"
            Thread(target=self._work, args=(loop,), name=name, daemon=True).start()
        self._jobs.put(_Job(work, answer))
        return await answer

    async def finish(self, within: float) -> bool:
        """Waits so many seconds for what is under way and ends the threads; False when something is left behind."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), within)
        for _ in range(self._started):
            self._jobs.put(None)
        return not self._unfinished

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while job := self._jobs.get():
            result, error = None, None
            try:
                result = job.work()
            except BaseException as raised:  # noqa: BLE001 (the caller gets it)
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended, and its callers with it
                loop.call_soon_threadsafe(self._answer, job.answer, result, error)

    def _answer(self, answer: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
        self._unfinished -= 1
        if not self._unfinished:
            self._idle.set()
        if answer.done():  # its caller was cancelled
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)
