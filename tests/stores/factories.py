"""The stores that the suite in this folder holds to one and the same behaviour. A new store is a new line."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from stores.memory import MemoryStore
from stores.over_http import open_over_http
from support import mariadb
from support.leases import FixedClock

from gorge_worker.clock import Clock
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.mysql.connecting import connector
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.protocol import ClassFilter, Report
from gorge_worker.queues.sqlite import SqliteStore
from gorge_worker.queues.store import StoreLease, TaskStore

RETRY_WAIT = 300
LEASE_DURATION = 7200

Factory = Callable[[Path, Clock], Awaitable[TaskStore]]


async def open_memory(_: Path, clock: Clock) -> TaskStore:
    return MemoryStore(clock, RETRY_WAIT)


async def open_sqlite(folder: Path, clock: Clock) -> TaskStore:
    return await SqliteStore.open(folder / "queue.db", retry_wait=RETRY_WAIT, clock=clock)


async def open_mariadb(folder: Path, clock: Clock) -> TaskStore:
    """A database of the product's own; the server's clock shows what the test's does."""
    url = mariadb.shared().create_database(_name_of(folder))
    connect = connector(mysql_address(url), mariadb.clocked(clock.wall))
    return MysqlStore(connect, "tests", retry_wait=RETRY_WAIT, rng=random.Random(1), create_schema=True)


async def open_like_mysql(folder: Path, clock: Clock) -> TaskStore:
    """As on MySQL, which has no INSERT ... RETURNING, as far as MariaDB can show it."""
    url = mariadb.shared().create_database(_name_of(folder))
    connect = connector(mysql_address(url), mariadb.clocked(clock.wall, version="8.0.36"))
    return MysqlStore(connect, "tests", retry_wait=RETRY_WAIT, rng=random.Random(1), create_schema=True)


def over_http(behind: Factory) -> Factory:
    return functools.partial(open_over_http, behind)


STORES: dict[str, Factory] = {
    "memory": open_memory,
    "sqlite": open_sqlite,
    "mariadb": open_mariadb,
    "mariadb as MySQL": open_like_mysql,
    "sqlite over HTTP": over_http(open_sqlite),
    "mariadb over HTTP": over_http(open_mariadb),
}
LASTING = [name for name in STORES if name != "memory"]
"""Those that keep their tasks from one process to the next."""


def params(names: Iterable[str]) -> list[ParameterSet]:
    """The stores as parameters of a test, with what they need."""
    needs = {name: [pytest.mark.needs(*mariadb.COMMANDS)] if "mariadb" in name else [] for name in names}
    return [pytest.param(name, marks=marks) for name, marks in needs.items()]


def _name_of(folder: Path) -> str:
    """A database for a folder."""
    return f"tasks_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


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
    return await store.lease(StoreLease(owner=owner, limit=limit, duration=duration, classes=ClassFilter(classes)))


async def leased_ids(store: TaskStore, limit: int = 1, owner: str = "owner", *classes: str) -> list[int]:
    return [task.id for task in await lease(store, limit, owner, *classes)]


def report_of(task: Task, outcome: Outcome, duration: int = 5) -> Report:
    """A report under the lease that the task was leased with."""
    held = Lease(task=task, owner=task.lease_owner or "", expires=task.lease_expires or 0, ends_at=0.0)
    return Report(lease=held, outcome=outcome, duration=duration)
