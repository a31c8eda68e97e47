"""A long queue costs a lease no more than a short one: what the database plans, and how many rows it really reads."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pymysql.connections import Connection
from support import mariadb
from support.waiting import until

from gorge_worker.queues.mysql.connecting import connector
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.protocol import ANY, ClassFilter
from gorge_worker.queues.store import StoreLease

pytestmark = [pytest.mark.needs(*mariadb.COMMANDS), pytest.mark.limit(60)]

ROWS = 40_000
LIMIT = 100
CLASSES = "ELT(1 + seq % 3, 'A', 'B', 'C')"
LATER = "UNIX_TIMESTAMP() + 86400"
FILTERS = [ANY, ClassFilter(only=("A", "B")), ClassFilter(without=("Paused",))]
READS = "SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE 'HANDLER_READ%'"


class Recording:
    """What is sent over all connections that it opens, and how many rows the server reads for it."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.connections: list[Connection[Any]] = []

    def opening(self) -> type[Any]:
        recording = self

        class Recorded(Connection):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                recording.connections.append(self)

            def query(self, sql: Any, unbuffered: bool = False) -> int:  # noqa: FBT001, FBT002 (the driver's)
                recording.statements.append(sql if isinstance(sql, str) else bytes(sql).decode())
                return super().query(sql, unbuffered)

        return Recorded

    def rows_read(self) -> int:
        total = 0
        for connection in self.connections:
            with connection.cursor() as cursor:
                cursor.execute(READS)
                total += int((cursor.fetchone() or (0,))[0])
        return total


class Lab:
    def __init__(self, database: str) -> None:
        self.server, self.database = mariadb.shared(), database
        self.recording = Recording()
        connect = connector(mysql_address(self.server.create_database(database)), self.recording.opening())
        self.store = MysqlStore(connect, "tests", retry_wait=300, rng=random.Random(1), create_schema=True)

    def fill(self, first: int, count: int, columns: str) -> None:
        numbers = f"seq_{first}_to_{first + count - 1}"
        self.server.execute(
            "INSERT INTO worker_activetask (taskClass, leaseOwner, leaseExpires, priority, id, failureCount, dataID,"
            f" dateCreated, dateModified) SELECT {columns}, seq, 0, seq, 1, 1 FROM {numbers}",
            database=self.database,
        )
        data = f"INSERT INTO worker_taskdata (id, data) SELECT seq, '{{}}' FROM {numbers}"
        self.server.execute(data, database=self.database)
        self.server.execute("ANALYZE TABLE worker_activetask", database=self.database)

    def explain(self, statement: str) -> list[dict[str, Any]]:
        with contextlib.closing(self.server.connect(self.database)) as connection, connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}")
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    async def lease(self, classes: ClassFilter, limit: int = LIMIT) -> tuple[int, list[str]]:
        """The rows that a lease makes the server read, and its statements; it must get all it asks for."""
        before, sent = self.recording.rows_read(), len(self.recording.statements)
        wanted = StoreLease(owner=f"owner {sent}", limit=limit, duration=300, classes=classes)
        assert len(await self.store.lease(wanted)) == limit
        statements = self.recording.statements[sent:]
        return self.recording.rows_read() - before, statements


@contextlib.asynccontextmanager
async def lab(name: str) -> AsyncIterator[Lab]:
    it = Lab(f"plans_{random.Random(name).getrandbits(48):x}")
    await it.store.stats()  # creates the tables
    # The collector has had its first turn: the connections are the test's.
    await until(lambda: len(it.store._database._idle) == len(it.recording.connections))
    try:
        yield it
    finally:
        await it.store.close()


@pytest.mark.parametrize("classes", FILTERS, ids=["any", "named", "without"])
async def test_a_lease_reads_as_many_rows_as_it_takes_places(classes: ClassFilter, request: Any) -> None:
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, f"{CLASSES}, NULL, NULL, 1000 * (2 + seq % 3)")
        reads, statements = await it.lease(classes)
        assert reads < 15 * LIMIT
        candidates = [one for one in statements if "FORCE INDEX" in one]
        assert len(candidates) == 2
        for statement in candidates:
            for step in it.explain(statement):
                assert step["key"] in ("key_owner", "leaseExpires"), step
                assert step["type"] in ("ref", "range"), step
                assert "filesort" not in (step["Extra"] or ""), step


@pytest.mark.parametrize(
    ("front", "classes"),
    [
        ("delayed", ANY),
        ("delayed", FILTERS[1]),
        ("delayed", FILTERS[2]),
        ("paused", FILTERS[1]),
        ("paused", FILTERS[2]),
    ],
)
async def test_a_crowd_in_front_is_passed_over_once(front: str, classes: ClassFilter, request: Any) -> None:
    columns = {"delayed": f"'A', NULL, {LATER}, 1000", "paused": "'Paused', NULL, NULL, 1000"}[front]
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, columns)
        it.fill(ROWS + 1, 5000, f"{CLASSES}, NULL, NULL, 2000")
        first, _ = await it.lease(classes)
        assert first > ROWS
        again, _ = await it.lease(classes)
        assert again < 20 * LIMIT


async def test_what_a_lease_leaves_over_is_found_by_the_next(request: Any) -> None:
    """Behind a crowd, new and due tasks share the places of one lease."""
    wanted = ClassFilter(without=("Paused",))
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, "'Paused', NULL, NULL, 1000")
        it.fill(ROWS + 1, 8, "'A', NULL, NULL, 2000")
        it.fill(ROWS + 9, 8, "'A', '(retry)', 1000, 2000")
        first, second = [
            [task.id for task in await it.store.lease(StoreLease(owner=owner, limit=10, duration=300, classes=wanted))]
            for owner in ("one", "two")
        ]
        assert sorted(first + second) == list(range(ROWS + 1, ROWS + 17))


async def test_as_many_priorities_as_tasks_are_passed_over_too(request: Any) -> None:
    wanted = ClassFilter(without=("Paused",))
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, "'Paused', NULL, NULL, 1000 + seq")
        it.fill(ROWS + 1, 2, "'A', NULL, NULL, 900000 + seq")
        for owner in ("one", "two"):
            [task] = await it.store.lease(StoreLease(owner=owner, limit=1, duration=300, classes=wanted))
            assert task.task_class == "A"


async def test_a_new_task_of_a_passed_priority_is_found_at_once(request: Any) -> None:
    wanted = ClassFilter(without=("Paused",))
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, "'Paused', NULL, NULL, 1000 * (1 + seq % 2)")
        it.fill(ROWS + 1, 100, "'A', NULL, NULL, 4000")
        await it.lease(wanted, 50)
        for number, priority in enumerate((500, 1000, 1500, 2000, 3000)):
            it.fill(2 * ROWS + number, 1, f"'A', NULL, NULL, {priority}")
            [task] = await it.store.lease(StoreLease(owner="me", limit=1, duration=300, classes=wanted))
            assert (task.id, task.priority) == (2 * ROWS + number, priority)


@pytest.mark.parametrize("waiting", ["(retry)", "(yield)", "(delay)", "1:2:host:3"])
async def test_tasks_that_wait_are_not_looked_at(waiting: str, request: Any) -> None:
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, f"{CLASSES}, '{waiting}', {LATER}, 1000")
        it.fill(ROWS + 1, 1000, f"{CLASSES}, NULL, NULL, 2000")
        reads, _ = await it.lease(ANY)
        assert reads < 15 * LIMIT


async def test_due_tasks_of_a_paused_class_are_passed_over_once(request: Any) -> None:
    wanted = ClassFilter(without=("Paused",))
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, "'Paused', '(retry)', 1000, 1000")
        it.fill(ROWS + 1, 1000, f"{CLASSES}, '(retry)', 2000, 2000")
        first, _ = await it.lease(wanted)
        again, _ = await it.lease(wanted)
        assert first > ROWS > 15 * LIMIT > again


@pytest.mark.parametrize("classes", FILTERS, ids=["any", "named", "without"])
async def test_looking_for_the_next_moment_reads_few_rows(classes: ClassFilter, request: Any) -> None:
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, f"{CLASSES}, '(retry)', {LATER} + seq, 1000")
        await it.store.next_due(classes)
        before = it.recording.rows_read()
        assert await it.store.next_due(classes) is not None
        assert it.recording.rows_read() - before < 4000


async def test_a_page_of_a_listing_does_not_read_a_long_queue(request: Any) -> None:
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, f"{CLASSES}, NULL, NULL, 1000 * (2 + seq % 3)")
        before = it.recording.rows_read()
        assert len(await it.store.active_tasks(limit=100, offset=200)) == 100
        assert it.recording.rows_read() - before < 3000
        before = it.recording.rows_read()
        assert await it.store.active_tasks(limit=100, offset=0, owner="nobody") == []
        assert it.recording.rows_read() - before < 50


async def test_reporting_and_renewing_read_the_rows_that_they_change(request: Any) -> None:
    async with lab(request.node.name) as it:
        it.fill(1, ROWS, f"{CLASSES}, NULL, NULL, 2000")
        [first, second] = await it.store.lease(StoreLease(owner="me", limit=2, duration=300))
        before = it.recording.rows_read()
        await it.store.complete(first.id, 1)
        await it.store.release([second])
        assert it.recording.rows_read() - before < 100
