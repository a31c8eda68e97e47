"""The long poll's waiting list: who waits for tasks of which classes, served in order when there are some."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import islice
from typing import NamedTuple

from gorge_worker.clock import Clock
from gorge_worker.model import Task
from gorge_worker.queues.protocol import ANY, ClassFilter
from gorge_worker.queues.store import StoreLease

RECHECK = 1.0
"""Seconds after which the store is asked again at the latest: another process may have written to it."""
JITTER = 0.1
"""The part of RECHECK by which that may be sooner, so that the processes on one store do not ask in step."""


class Grant(NamedTuple):
    """What a lease call got. `asked_at` is the CLOCK_BOOTTIME just before the store was asked for it, in seconds."""

    tasks: list[Task]
    asked_at: float


class Waiter:
    """A lease call that found nothing. Its answer is cancelled once the caller no longer wants one."""

    def __init__(self, wanted: StoreLease) -> None:
        self.wanted = wanted
        self.answer: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()

    def wants(self, task_class: str) -> bool:
        return self.wanted.classes.wants(task_class)


class Waiters:
    """Serves the calls that wait; nothing runs while none does.

    One task watches for all of them: it asks when the next task of their classes is due, which costs the same for
    one call as for a thousand, and starts a round when there is one. A round leases for the first call in line, then
    for two more, then four, as long as there are tasks: few commits, and hardly a call is tried in vain.
    """

    def __init__(
        self,
        *,
        lease: Callable[[StoreLease], Awaitable[Grant]],
        next_due: Callable[[ClassFilter], Awaitable[int | None]],
        unwanted: Callable[[Sequence[Task]], None],
        clock: Clock,
        rng: random.Random,
    ) -> None:
        """`lease` does not wait; `unwanted` takes tasks that were leased for a caller who has gone meanwhile."""
        self._lease = lease
        self._next_due = next_due
        self._unwanted = unwanted
        self._clock = clock
        self._rng = rng
        self._line: dict[Waiter, None] = {}
        self._changed = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    def join(self, waiter: Waiter) -> None:
        """Puts a call at the end of the line. It misses nothing that came after it found nothing."""
        self._line[waiter] = None
        self._changed.set()
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())

    def leave(self, waiter: Waiter) -> None:
        """Takes a call out of the line, wherever it is; one that has left already may."""
        waiter.answer.cancel()
        self._line.pop(waiter, None)
        if not self._line:
            self._changed.set()

    def notify(self, task_classes: Collection[str] | None = None) -> None:
        """Says that tasks of these classes (None: of any) can be leased, or will be sooner than was known."""
        if task_classes is None or any(waiter.wants(name) for name in task_classes for waiter in self._line):
            self._changed.set()

    async def close(self) -> None:
        """Ends every wait with nothing."""
        nothing = Grant([], self._clock.boottime())
        for waiter in self._line:
            if not waiter.answer.done():
                waiter.answer.set_result(nothing)
        self._line.clear()
        self._changed.set()
        if self._serving is not None:
            await self._serving

    async def _serve(self) -> None:
        try:
            while self._line:
                self._changed.clear()
                pause = await self._until_due()
                if pause <= 0:
                    if await self._round():
                        continue
                    pause = self._recheck()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._changed.wait()
        except Exception as error:  # noqa: BLE001 -- the callers get it, each of them
            for waiter in self._line:
                if not waiter.answer.done():
                    waiter.answer.set_exception(error)
            self._line.clear()
        finally:
            self._serving = None

    async def _until_due(self) -> float:
        """Seconds until a round, at most RECHECK; 0 or less when there is something to lease now."""
        due = await self._next_due(ClassFilter.union(waiter.wanted.classes for waiter in self._line))
        recheck = self._recheck()
        return recheck if due is None else min(due - self._clock.wall(), recheck)

    def _recheck(self) -> float:
        return RECHECK * (1 - JITTER * self._rng.random())

    async def _round(self) -> bool:
        """Serves those in line for whom there is something; True when somebody got something."""
        served = False
        exhausted: set[ClassFilter] = set()
        size = 1
        while picked := self._pick(size, exhausted):
            counts = await asyncio.gather(*(self._offer(waiter) for waiter in picked))
            for waiter, count in zip(picked, counts, strict=True):
                served = served or count > 0
                if count < waiter.wanted.limit:
                    exhausted.add(waiter.wanted.classes)
            size *= 2
        return served

    def _pick(self, size: int, exhausted: set[ClassFilter]) -> list[Waiter]:
        if ANY in exhausted:
            return []
        return list(islice((one for one in self._line if one.wanted.classes not in exhausted), size))

    async def _offer(self, waiter: Waiter) -> int:
        """Leases for one call; returns how many tasks it got."""
        try:
            grant = await self._lease(waiter.wanted)
        except Exception as error:  # noqa: BLE001 -- the caller gets it
            self._line.pop(waiter, None)
            if not waiter.answer.done():
                waiter.answer.set_exception(error)
            return 0
        if not grant.tasks:
            return 0
        self._line.pop(waiter, None)
        if waiter.answer.done():
            self._unwanted(grant.tasks)
            return 0
        waiter.answer.set_result(grant)
        return len(grant.tasks)
