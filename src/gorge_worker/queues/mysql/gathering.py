"""Group commit: what is called while a transaction is under way goes together into the next one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from gorge_worker.queues.mysql.trouble import is_of_one
from gorge_worker.queues.store import StoreError

Call = TypeVar("Call")
Answer = TypeVar("Answer")


class Gathering(Generic[Call, Answer]):
    """Executes calls in groups of at most `most`, in their order, `lanes` groups at a time.

    `execute` answers each call of a group, in order. When one call's values spoil a group, its calls are executed one
    by one, so that it costs only itself. A caller that is cancelled has its call executed all the same.
    """

    def __init__(
        self, execute: Callable[[list[Call]], Awaitable[Sequence[Answer]]], *, most: int, lanes: int = 1
    ) -> None:
        self._execute = execute
        self._most = most
        self._lanes = lanes
        self._waiting: deque[tuple[Call, asyncio.Future[Answer]]] = deque()
        self._running: set[asyncio.Task[Any] | None] = set()

    async def call(self, call: Call) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, answer))
        if len(self._running) < self._lanes:
            lane = asyncio.create_task(self._run())
            self._running.add(lane)
        return await answer

    async def finish(self) -> None:
        """Returns when everything that has been called is done."""
        while lanes := [lane for lane in self._running if lane]:
            await asyncio.wait(lanes)

    async def _run(self) -> None:
        try:
            while self._waiting:
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]
                await self._carry_out(group)
        finally:
            # Here and not by a callback: a call that came before it would be left to a lane that has ended.
            self._running.discard(asyncio.current_task())

    async def _carry_out(self, group: list[tuple[Call, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._execute([call for call, _ in group])
        except StoreError as error:
            if len(group) == 1 or not is_of_one(error):
                _fail(group, error)
                return
            for one in group:
                await self._carry_out([one])
        except Exception as error:  # noqa: BLE001 -- the callers get it, each of them
            _fail(group, error)
        else:
            for (_, future), answer in zip(group, answers, strict=True):
                if not future.done():  # else its caller was cancelled
                    future.set_result(answer)


def _fail(group: Sequence[tuple[Call, asyncio.Future[Answer]]], error: Exception) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
