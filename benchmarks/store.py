"""How much grouping commits is worth: the SQLite store's calls one by one, and many at once.

Usage: python benchmarks/store.py [FOLDER]   (a folder on the disk to be measured; needs less than 20 seconds)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from gorge_worker.clock import SystemClock
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.protocol import Report
from gorge_worker.queues.sqlite import SqliteStore
from gorge_worker.queues.store import StoreLease

SINGLE = 300
GROUPED = 10_000
BATCH = 100
DATA = '{"documentPHID":"PHID-TASK-abcdefghijklmnopqrst","parameters":[],"strict":false}'
TASK = NewTask(task_class="PhabricatorSearchWorker", data=DATA)


async def rate(count: int, work: Callable[[], Awaitable[object]]) -> float:
    """Tasks a second."""
    began = time.perf_counter()
    await work()
    return count / (time.perf_counter() - began)


def report(task: Task) -> Report:
    lease = Lease(task=task, owner=task.lease_owner or "", expires=task.lease_expires or 0, ends_at=0.0)
    return Report(lease=lease, outcome=Outcome.success(), duration=1000)


async def lease(store: SqliteStore, limit: int) -> list[Task]:
    return await store.lease(StoreLease(owner="benchmark", limit=limit, duration=7200))


async def one_by_one(store: SqliteStore) -> tuple[float, float, float]:
    tasks: list[Task] = []

    async def enqueue() -> None:
        for _ in range(SINGLE):
            await store.enqueue([TASK])

    async def lease_each() -> None:
        for _ in range(SINGLE):
            tasks.extend(await lease(store, 1))

    async def complete() -> None:
        for task in tasks:
            await store.report([report(task)])

    return await rate(SINGLE, enqueue), await rate(SINGLE, lease_each), await rate(SINGLE, complete)


async def many_callers(store: SqliteStore) -> tuple[float, float, float]:
    """Every task in a call of its own, all of them at once, as many clients make them."""
    leased: list[list[Task]] = []

    async def enqueue() -> None:
        await asyncio.gather(*(store.enqueue([TASK]) for _ in range(GROUPED)))

    async def lease_all() -> None:
        leased.extend(await asyncio.gather(*(lease(store, 1) for _ in range(GROUPED))))

    async def complete() -> None:
        await asyncio.gather(*(store.report([report(task)]) for tasks in leased for task in tasks))

    return await rate(GROUPED, enqueue), await rate(GROUPED, lease_all), await rate(GROUPED, complete)


async def batches(store: SqliteStore) -> tuple[float, float, float]:
    """A hundred tasks a call, one call after the other, as one busy worker makes them."""
    leased: list[list[Task]] = []

    async def enqueue() -> None:
        for _ in range(GROUPED // BATCH):
            await store.enqueue([TASK] * BATCH)

    async def lease_all() -> None:
        leased.extend([await lease(store, BATCH) for _ in range(GROUPED // BATCH)])

    async def complete() -> None:
        for tasks in leased:
            await store.report([report(task) for task in tasks])

    return await rate(GROUPED, enqueue), await rate(GROUPED, lease_all), await rate(GROUPED, complete)


async def main(folder: Path) -> None:
    store = await SqliteStore.open(folder / "benchmark.db", retry_wait=300, clock=SystemClock())
    rows = {
        "one by one": await one_by_one(store),
        "many callers at once": await many_callers(store),
        f"batches of {BATCH}": await batches(store),
    }
    await store.close()
    base = rows["one by one"]
    print(f"{'tasks a second':24}{'enqueue':>16}{'lease':>16}{'complete':>16}")
    for name, rates in rows.items():
        cells = (f"{one:9.0f} x{one / single:4.1f}" for one, single in zip(rates, base, strict=True))
        print(f"{name:24}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as made:
        asyncio.run(main(Path(made)))
