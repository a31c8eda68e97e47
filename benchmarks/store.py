"""How much grouping commits is worth: a store's calls one by one, and many at once, on SQLite and on MariaDB.

Usage: python benchmarks/store.py [FOLDER]   (a folder on the disk to be measured; needs less than a minute)
Both with full durability. A private MariaDB server is started where one is installed.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import mariadb

from gorge_worker.clock import SystemClock
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.mysql.connecting import connector
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.protocol import Report
from gorge_worker.queues.sqlite import SqliteStore
from gorge_worker.queues.store import StoreLease, TaskStore

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


async def lease(store: TaskStore, limit: int) -> list[Task]:
    return await store.lease(StoreLease(owner="benchmark", limit=limit, duration=7200))


async def one_by_one(store: TaskStore) -> tuple[float, float, float]:
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


async def many_callers(store: TaskStore) -> tuple[float, float, float]:
    """Every task in a call of its own, all of them at once, as many clients make them."""
    leased: list[list[Task]] = []

    async def enqueue() -> None:
        await asyncio.gather(*(store.enqueue([TASK]) for _ in range(GROUPED)))

    async def lease_all() -> None:
        leased.extend(await asyncio.gather(*(lease(store, 1) for _ in range(GROUPED))))

    async def complete() -> None:
        await asyncio.gather(*(store.report([report(task)]) for tasks in leased for task in tasks))

    return await rate(GROUPED, enqueue), await rate(GROUPED, lease_all), await rate(GROUPED, complete)


async def batches(store: TaskStore) -> tuple[float, float, float]:
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


async def measure(name: str, store: TaskStore) -> None:
    rows = {
        "one by one": await one_by_one(store),
        "many callers at once": await many_callers(store),
        f"batches of {BATCH}": await batches(store),
    }
    await store.close()
    base = rows["one by one"]
    print(f"{name + ', tasks a second':24}{'enqueue':>16}{'lease':>16}{'complete':>16}")
    for kind, rates in rows.items():
        cells = (f"{one:9.0f} x{one / single:4.1f}" for one, single in zip(rates, base, strict=True))
        print(f"{kind:24}" + "".join(f"{cell:>16}" for cell in cells))


async def main(folder: Path) -> None:
    await measure("SQLite", await SqliteStore.open(folder / "benchmark.db", retry_wait=300, clock=SystemClock()))
    if not mariadb.installed():
        print(f"MariaDB: not measured, this machine lacks {' or '.join(mariadb.COMMANDS)}")
        return
    with mariadb.own_server(mariadb.DURABLE, folder) as server:
        connect = connector(mysql_address(server.create_database("benchmark")))
        store = MysqlStore(connect, "benchmark", retry_wait=300, rng=random.Random(1), create_schema=True)
        await store.stats()
        await measure("MariaDB", store)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as made:
        asyncio.run(main(Path(made)))
