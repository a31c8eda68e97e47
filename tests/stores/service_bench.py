"""A service on a store in memory, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from stores.factories import new
from stores.memory import MemoryStore
from support.virtual_time import VirtualClock, run_virtually

from gorge_worker.model import NewTask, Task
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import StoreLease

MOMENT = 0.2
"""Seconds: less than the second after which the store is asked again anyway."""


class SlowStore(MemoryStore):
    """Leases with a pause after the lease and before the answer, in which its caller may go away."""

    answer_after = 0.0

    async def lease(self, wanted: StoreLease) -> list[Task]:
        tasks = await super().lease(wanted)
        await asyncio.sleep(self.answer_after)
        return tasks


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = SlowStore(self.clock)
        self.service = QueueService(
            self.store,
            lease_duration=100,
            clock=self.clock,
            rng=random.Random(1),
        )
        self.started = self.clock.boottime()
        self.owners = 0

    @property
    def elapsed(self) -> float:
        return self.clock.boottime() - self.started

    async def lease(self, limit: int = 1, *classes: str, wait: float = 20.0) -> list[int]:
        self.owners += 1
        tasks = await self.service.lease(
            owner=f"owner-{self.owners}", limit=limit, classes=ClassFilter(classes), wait=wait
        )
        return [task.id for task in tasks]

    def waiting(self, limit: int = 1, *classes: str, wait: float = 20.0) -> asyncio.Task[list[int]]:
        return asyncio.create_task(self.lease(limit, *classes, wait=wait))

    async def add(self, *tasks: NewTask) -> list[int]:
        return [task.id for task in await self.service.enqueue(tasks or [new()])]

    async def hold(self) -> Task:
        """A task that somebody has leased."""
        await self.store.enqueue([new()])
        [task] = await self.service.lease(owner="holder", limit=1)
        return task


Test = Callable[[Bench], Coroutine[Any, Any, None]]


def virtually(test: Test) -> Callable[[], None]:
    def run() -> None:
        async def with_bench() -> None:
            bench = Bench()
            await test(bench)
            bench.store.trouble = False
            await bench.service.close()

        run_virtually(with_bench())

    run.__name__ = test.__name__
    return run
