"""Other transactions on the same rows: a deadlock or a long lock costs time, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator

import pytest
from pymysql import err
from support import mariadb
from support.php_side import Php

from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.mysql import connecting
from gorge_worker.queues.mysql.connecting import connector
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.protocol import Receipt, Report
from gorge_worker.queues.store import StoreLease

pytestmark = [pytest.mark.needs(*mariadb.COMMANDS), pytest.mark.limit(60)]
WAITING = "SELECT COUNT(*) AS waits FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"


class Lab:
    """A store, and two other programs' connections to its tables."""

    def __init__(self, name: str) -> None:
        self.server = mariadb.shared()
        database = f"locks_{random.Random(name).getrandbits(60):x}"
        url = self.server.create_database(database)
        self.store = MysqlStore(
            connector(mysql_address(url)), "tests", retry_wait=300, rng=random.Random(1), create_schema=True
        )
        self.other, self.watcher = (Php(self.server.connect(database)) for _ in range(2))

    async def leased(self, count: int) -> list[Task]:
        await self.store.enqueue([NewTask(task_class="A")] * count)
        return await self.store.lease(StoreLease(owner="me", limit=count, duration=300))

    def reporting(self, tasks: list[Task]) -> asyncio.Task[list[Receipt]]:
        reports = [
            Report(
                lease=Lease(task=task, owner="me", expires=task.lease_expires or 0, ends_at=0.0),
                outcome=Outcome.success((NewTask(task_class="Child", data=str(task.id)),)),
                duration=5,
            )
            for task in tasks
        ]

        async def receipts() -> list[Receipt]:
            return [result.receipt for result in await self.store.report(reports)]

        return asyncio.create_task(receipts())

    async def until_it_waits(self, *, waits: bool = True) -> None:
        """Until a transaction waits for a lock, or none does."""
        end = time.monotonic() + 10
        # Asked within a tenth of a second, the server says what it said before, to an earlier test too.
        await asyncio.sleep(0.15)
        while bool(self.watcher.rows(WAITING)[0]["waits"]) != waits:
            assert time.monotonic() < end, "nothing waits for a lock" if waits else "it waits for ever"
            await asyncio.sleep(0.15)


@contextlib.asynccontextmanager
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    it = Lab(request.node.nodeid)
    try:
        yield it
    finally:
        await it.store.close()
        it.other.close()
        it.watcher.close()


async def test_a_deadlock_is_got_over(request: pytest.FixtureRequest) -> None:
    async with lab(request) as it:
        tasks = await it.leased(2)
        it.other.run("START TRANSACTION")
        it.other.run("UPDATE worker_activetask SET dateModified = 1 WHERE id = %s", tasks[1].id)
        # What the other one has done already makes it the one that is spared.
        for _ in range(50):
            it.other.run("INSERT INTO worker_taskdata (data) VALUES ('x')")
        reporting = it.reporting(tasks)
        await it.until_it_waits()
        with contextlib.suppress(err.OperationalError):  # it may be the victim all the same
            await asyncio.to_thread(
                it.other.run, "UPDATE worker_activetask SET dateModified = 1 WHERE id = %s", tasks[0].id
            )
        it.other.run("COMMIT")
        assert await reporting == [Receipt.ACCEPTED] * 2
        left = await it.store.active_tasks(limit=9, offset=0)
        assert [task.task_class for task in left] == ["Child", "Child"]


async def test_a_lock_that_is_held_for_long_costs_only_its_own_task(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = connecting.SESSION.replace(f"= {connecting.LOCK_TIMEOUT}", "= 1")
    monkeypatch.setattr(connecting, "SESSION", short)
    async with lab(request) as it:
        tasks = await it.leased(4)
        it.other.run("START TRANSACTION")
        it.other.run("UPDATE worker_activetask SET dateModified = 1 WHERE id = %s", tasks[1].id)
        leases = [Lease(task=one, owner="me", expires=one.lease_expires or 0, ends_at=0.0) for one in tasks[1:3]]
        locked, renewed = await it.store.renew(leases, 1000)
        assert (locked.task, locked.trouble) == (None, True), "not lost, but not to be renewed now"
        assert renewed.task is not None
        others = [tasks[0], tasks[1], tasks[3]]
        assert await it.reporting(others) == [Receipt.ACCEPTED, Receipt.TROUBLE, Receipt.ACCEPTED]
        it.other.run("COMMIT")
        assert await it.reporting([tasks[1]]) == [Receipt.ACCEPTED]


async def test_a_task_that_can_not_be_archived_costs_only_itself(request: pytest.FixtureRequest) -> None:
    """Its id is in the archive already: a counter that was set back, say."""
    async with lab(request) as it:
        tasks = await it.leased(3)
        it.other.run(
            "INSERT INTO worker_archivetask (id, taskClass, failureCount, dataID, priority, dateCreated, dateModified,"
            " result, duration) VALUES (%s, 'Older', 0, 0, 0, 1, 1, 0, 0)",
            tasks[1].id,
        )
        assert await it.reporting(tasks) == [Receipt.ACCEPTED, Receipt.TROUBLE, Receipt.ACCEPTED]
        left = await it.store.active_tasks(limit=9, offset=0, owner="me")
        assert [task.id for task in left] == [tasks[1].id]


async def test_the_counter_is_never_held_while_tasks_are_written(request: pytest.FixtureRequest) -> None:
    """A report waits for a row, with its follow-up's id taken already: PHP gets the next one at once."""
    async with lab(request) as it:
        [task] = await it.leased(1)
        it.other.run("START TRANSACTION")
        it.other.run("SELECT * FROM worker_activetask WHERE id = %s FOR UPDATE", task.id)
        reporting = it.reporting([task])
        await it.until_it_waits()
        assert it.watcher.enqueue("B") == task.id + 2
        it.other.run("COMMIT")
        assert await reporting == [Receipt.ACCEPTED]


@pytest.mark.parametrize("seed", range(3))
async def test_many_writers_of_the_same_rows_lose_nothing(seed: int, request: pytest.FixtureRequest) -> None:
    rng = random.Random(seed)
    async with lab(request) as it:
        tasks = await it.leased(60)

        def disturb() -> None:
            for _ in range(150):
                ids = rng.sample([task.id for task in tasks], 5)
                with contextlib.suppress(err.OperationalError):
                    it.other.run("START TRANSACTION")
                    for task_id in ids:
                        it.other.run("UPDATE worker_activetask SET objectPHID = 'PHID-X' WHERE id = %s", task_id)
                it.other.run("COMMIT")

        disturbing = asyncio.create_task(asyncio.to_thread(disturb))
        rng.shuffle(tasks)
        batches = [it.reporting(tasks[start : start + 4]) for start in range(0, 60, 4)]
        assert await asyncio.gather(*batches) == [[Receipt.ACCEPTED] * 4] * 15
        await disturbing
        children = [task.data for task in await it.store.lease(StoreLease(owner="x", limit=99, duration=9))]
        assert sorted(map(int, children)) == sorted(task.id for task in tasks)
