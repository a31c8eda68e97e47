"""The stores that the suite in this folder holds to one and the same behaviour. A new store is a new line."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from stores.memory import MemoryStore
from support.leases import FixedClock

from gorge_worker.clock import Clock
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.protocol import Report
from gorge_worker.queues.sqlite import SqliteStore
from gorge_worker.queues.store import StoreLease, TaskStore

RETRY_WAIT = 300
LEASE_DURATION = 7200

Factory = Callable[[Path, Clock], Awaitable[TaskStore]]


async def open_memory(_: Path, clock: Clock) -> TaskStore:
    return MemoryStore(clock, RETRY_WAIT)


async def open_sqlite(folder: Path, clock: Clock) -> TaskStore:
    return await SqliteStore.open(folder / "queue.db", retry_wait=RETRY_WAIT, clock=clock)


STORES: dict[str, Factory] = {"memory": open_memory, "sqlite": open_sqlite}
LASTING = [name for name in STORES if name != "memory"]
"""Those that keep their tasks from one process to the next."""


@dataclass
class Place:
    """Where a test's store is, and the clock that it goes by."""

    factory: Factory
    folder: Path
    clock: FixedClock = field(default_factory=FixedClock)

    @property
    def now(self) -> int:
        return int(self.clock.epoch)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[TaskStore]:
        store = await self.factory(self.folder, self.clock)
        try:
            yield store
        finally:
            await store.close()


def new(task_class: str = "ExampleWorker", data: str = "{}", **fields: object) -> NewTask:
    return NewTask(task_class=task_class, data=data, **fields)  # type: ignore[arg-type]


async def add(store: TaskStore, *tasks: NewTask) -> list[int]:
    """Enqueues tasks, one plain one unless told, and returns their ids."""
    return [task.id for task in await store.enqueue(tasks or [new()])]


async def add_many(store: TaskStore, count: int) -> list[int]:
    return [task.id for task in await store.enqueue([new() for _ in range(count)])]


async def lease(
    store: TaskStore, limit: int = 1, owner: str = "owner", *classes: str, duration: int = LEASE_DURATION
) -> list[Task]:
    return await store.lease(StoreLease(owner=owner, limit=limit, duration=duration, task_classes=classes))


async def leased_ids(store: TaskStore, limit: int = 1, owner: str = "owner", *classes: str) -> list[int]:
    return [task.id for task in await lease(store, limit, owner, *classes)]


def report_of(task: Task, outcome: Outcome, duration: int = 5) -> Report:
    """A report under the lease that the task was leased with."""
    held = Lease(task=task, owner=task.lease_owner or "", expires=task.lease_expires or 0, ends_at=0.0)
    return Report(lease=held, outcome=outcome, duration=duration)
