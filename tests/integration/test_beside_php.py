"""On Phorge's own tables, beside PHP: taskmasters, `bin/worker` and `phd restart` may come at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest
from structlog.testing import capture_logs
from support import mariadb
from support.memory_queue import CLASS, FakeHandler
from support.php_side import Php, Row
from support.waiting import until, until_true

from gorge_worker.clock import SystemClock
from gorge_worker.engine import heartbeat
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.worker import Worker
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.local import LocalQueue
from gorge_worker.queues.mysql.connecting import connector
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import Receipt, Report
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import NotSupported, StoreLease
from gorge_worker.registry import Registry

pytestmark = [pytest.mark.needs(*mariadb.COMMANDS), pytest.mark.limit(60)]


class Lab:
    """A database with Phorge's tables, PHP's side of it, and the product's store."""

    def __init__(self, name: str) -> None:
        self.server = mariadb.shared()
        self.database = f"phorge_{random.Random(name).getrandbits(60):x}_worker"
        self.url = self.server.create_database(self.database)
        self.php = self.new_php().create_tables()
        self.store = self.new_store()

    def new_php(self) -> Php:
        return Php(self.server.connect(self.database))

    def new_store(self) -> MysqlStore:
        connect = connector(mysql_address(self.url))
        return MysqlStore(connect, "tests", retry_wait=300, rng=random.Random(1), create_schema=True)

    async def lease(self, limit: int = 1) -> list[Task]:
        return await self.store.lease(StoreLease(owner=f"me:{time.monotonic()}", limit=limit, duration=300))

    async def report(self, task: Task, outcome: Outcome) -> Receipt:
        lease = Lease(task=task, owner=task.lease_owner or "", expires=task.lease_expires or 0, ends_at=0.0)
        [result] = await self.store.report([Report(lease=lease, outcome=outcome, duration=5)])
        return result.receipt

    def archived(self) -> list[Row]:
        return self.php.rows("SELECT * FROM worker_archivetask ORDER BY id")

    @contextlib.asynccontextmanager
    async def worker(self, handler: FakeHandler, seed: int, **options: int) -> AsyncIterator[Worker]:
        rng, clock, registry, store = random.Random(seed), SystemClock(), Registry(), self.new_store()
        registry.register(CLASS, handler)
        service = QueueService(store, lease_duration=300, clock=clock, rng=rng)
        queue = LocalQueue(service, OwnerNames(clock, rng), clock=clock, lease_duration=300)
        worker = Worker(
            queue=queue,
            registry=registry,
            options=EngineOptions(poll_interval=0.1, **options),
            clock=clock,
            rng=rng,
            hide_secrets=str,
        )
        run = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            await run
            await service.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.nodeid)


@contextlib.asynccontextmanager
async def lab(name: str) -> AsyncIterator[Lab]:
    it = Lab(name)
    try:
        yield it
    finally:
        await it.store.close()
        it.php.close()


async def test_phorges_tables_are_used_as_they_are(name: str) -> None:
    async with lab(name) as it:
        before = it.php.rows("SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()")
        assert not await it.store.supports_events()
        with pytest.raises(NotSupported):
            await it.store.enqueue_event("event", NewTask(task_class="A"))
        await it.store.enqueue([NewTask(task_class="A")])
        assert it.php.rows("SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()") == before


async def test_what_php_has_enqueued_is_leased_with_its_data(name: str) -> None:
    async with lab(name) as it:
        texts = ["1", '{"key":7714163963910349351}', '{"documentPHID":"PHID-TASK-x","strict":false}', "峡谷 🏞", ""]
        ids = [it.php.enqueue("A", text, objectPHID="PHID-TASK-x") for text in texts]
        tasks = await it.lease(9)
        assert [(task.id, task.data, task.object_phid) for task in tasks] == [
            (one, text, "PHID-TASK-x") for one, text in zip(ids, texts, strict=True)
        ]


async def test_php_finds_what_was_enqueued_here_and_ids_never_meet(name: str) -> None:
    async with lab(name) as it:
        ids = [it.php.enqueue("A")]
        ids += [task.id for task in await it.store.enqueue([NewTask(task_class="A", data='"é"')] * 3)]
        ids += [it.php.enqueue("A")]
        assert ids == sorted(set(ids))
        rows = it.php.lease(9)
        assert sorted(row["id"] for row in rows) == ids
        assert [row["_taskData"] for row in rows if row["id"] in ids[1:4]] == ['"é"'] * 3


async def test_what_ends_here_looks_to_php_like_its_own(name: str) -> None:
    async with lab(name) as it:
        for _ in range(2):
            it.php.enqueue("A", objectPHID="PHID-X", containerPHID="PHID-Y")
        done, failed = await it.lease(2)
        followup = NewTask(task_class="Child", data="1", delay_until=int(time.time()) + 999)
        assert await it.report(done, Outcome.success((followup,))) is Receipt.ACCEPTED
        assert await it.report(failed, Outcome.permanent_failure("no")) is Receipt.ACCEPTED
        success, failure = it.archived()
        assert (success["result"], success["duration"], success["failureCount"]) == (0, 5, 0)
        assert (failure["result"], failure["duration"]) == (1, 0)
        for row in (success, failure):
            assert abs(row["archivedEpoch"] - time.time()) < 5
            assert row["dateModified"] == row["archivedEpoch"]
            assert (row["objectPHID"], row["containerPHID"]) == (b"PHID-X", b"PHID-Y")
        assert it.php.lease() == [], "the delayed child is honoured by PHP too"


async def test_waits_hold_against_phps_lease(name: str) -> None:
    async with lab(name) as it:
        for _ in range(3):
            it.php.enqueue("A")
        retried, yielded, released = await it.lease(3)
        await it.report(retried, Outcome.temporary_failure("busy", 60))
        await it.report(yielded, Outcome.yielded(60))
        await it.report(released, Outcome.released("not ours"))
        assert [row["id"] for row in it.php.lease(9)] == [released.id]
        [row] = it.php.rows("SELECT * FROM worker_activetask WHERE id = %s", retried.id)
        assert (row["failureCount"], row["leaseOwner"]) == (1, "(retry)")
        assert abs(row["failureTime"] - time.time()) < 5


async def test_phps_waits_hold_here(name: str) -> None:
    async with lab(name) as it:
        retried, yielded = it.php.enqueue("A"), it.php.enqueue("A")
        for row in it.php.lease(2):
            it.php.retry_later(row, 60) if row["id"] == retried else it.php.yield_for(row, 60)
        delayed = it.php.enqueue("A")
        it.php.delay(delayed, int(time.time()) + 60)
        assert await it.lease(9) == []
        assert await it.store.awaken([yielded, retried]) == 1
        assert [task.id for task in await it.lease(9)] == [yielded]


async def test_a_delay_that_is_over_is_no_delay(name: str) -> None:
    async with lab(name) as it:
        task_id = it.php.enqueue("A")
        it.php.delay(task_id, int(time.time()) - 1)
        assert [task.id for task in await it.lease(9)] == [task_id]


async def test_an_archived_task_that_php_retries_is_executed_again(name: str) -> None:
    async with lab(name) as it:
        task_id = it.php.enqueue("A")
        [task] = await it.lease()
        await it.report(task, Outcome.permanent_failure("no"))
        it.php.retry(task_id)
        [again] = await it.lease()
        assert (again.id, again.failure_count) == (task_id, 0)
        assert await it.report(task, Outcome.permanent_failure("no")) is Receipt.LEASE_LOST
        assert await it.report(again, Outcome.success()) is Receipt.ACCEPTED


COMMANDS: dict[str, Callable[[Php, int], object]] = {
    "cancel": Php.cancel,
    "free": Php.free,
    "phd restart": lambda php, _: php.restart_daemons(),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "outcome",
    [Outcome.success(), Outcome.permanent_failure("no"), Outcome.temporary_failure("no"), Outcome.yielded(9)],
    ids=lambda outcome: str(outcome.verdict),
)
async def test_a_lease_that_a_command_has_ended_counts_no_more(command: str, outcome: Outcome, name: str) -> None:
    async with lab(name) as it:
        task_id = it.php.enqueue("A")
        [task] = await it.lease()
        COMMANDS[command](it.php, task_id)
        lease = Lease(task=task, owner=task.lease_owner or "", expires=task.lease_expires or 0, ends_at=0.0)
        [renewed] = await it.store.renew([lease], 300)
        before = it.php.rows("SELECT * FROM worker_activetask")
        assert renewed.task is None
        assert await it.report(task, outcome) is Receipt.LEASE_LOST
        assert it.php.rows("SELECT * FROM worker_activetask") == before


async def test_a_priority_that_is_changed_while_a_task_runs_costs_nothing(name: str) -> None:
    async with lab(name) as it:
        task_id = it.php.enqueue("A")
        [task] = await it.lease()
        it.php.prioritise(task_id, 77)
        assert await it.report(task, Outcome.success()) is Receipt.ACCEPTED
        assert it.archived()[0]["priority"] == 77


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_worker_cancels_what_a_command_has_taken_away(
    command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes up to half a minute; here the heart beats faster."""
    for interval in ("SHORTEST_INTERVAL", "LONGEST_INTERVAL"):
        monkeypatch.setattr(heartbeat, interval, 0.2)
    monkeypatch.setattr(heartbeat, "FRESH", 0.0)
    cancelled = asyncio.Event()

    async def hang(_lease: Lease) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError("not reached")

    handler = FakeHandler(hang)
    async with lab(name) as it:
        task_id = it.php.enqueue(CLASS)
        # One slot: a free one would lease the freed task again, and the execution would go on under that lease.
        async with it.worker(handler, 1, max_workers=1) as worker:
            await until(lambda: handler.running == [task_id])
            with capture_logs() as logs:
                COMMANDS[command](it.php, task_id)
                [taken] = it.php.lease() if command == "free" else [None]
                async with asyncio.timeout(10):
                    await cancelled.wait()
                await until(lambda: worker.stats.active == 0 or handler.executed[1:])
            assert "lease lost, nothing is reported" in [line["event"] for line in logs]
            if taken:
                it.php.succeed(taken)
            for row in it.php.rows("SELECT id FROM worker_activetask"):
                it.php.cancel(row["id"])
        assert [row["result"] for row in it.archived()] == [0 if command == "free" else 2]


@pytest.mark.limit(120)
async def test_two_workers_and_a_taskmaster_execute_each_of_5000_tasks_once(name: str) -> None:
    executed: Counter[int] = Counter()
    by: Counter[str] = Counter()

    async def execute(lease: Lease) -> Outcome:
        executed[lease.task.id] += 1
        by["here"] += 1
        await asyncio.sleep(0)
        return Outcome.success()

    def execute_in_php(task: Row) -> str:
        executed[task["id"]] += 1
        by["php"] += 1
        return "success"

    async with lab(name) as it:
        taskmaster, enqueuer = it.new_php(), it.new_php()
        for _ in range(50):
            await it.store.enqueue([NewTask(task_class=CLASS)] * 80)
        handlers = [FakeHandler(execute), FakeHandler(execute)]

        def enqueue_more() -> None:
            for _ in range(1000):
                enqueuer.enqueue(CLASS)

        def work_in_php() -> None:
            while len(executed) < 5000:
                taskmaster.work(execute_in_php)
                time.sleep(0.01)

        async with (
            it.worker(handlers[0], 1, max_workers=8, lease_limit=8),
            it.worker(handlers[1], 2, max_workers=8, lease_limit=8),
        ):
            await asyncio.gather(asyncio.to_thread(enqueue_more), asyncio.to_thread(work_in_php))

            async def all_archived() -> bool:
                return (await it.store.stats()).active == 0

            await until_true(all_archived, within=60)
        assert len(executed) == 5000
        assert set(executed.values()) == {1}
        assert min(by["here"], by["php"]) > 0
        rows = it.archived()
        assert len(rows) == 5000
        assert {(row["result"], row["failureCount"]) for row in rows} == {(0, 0)}
        taskmaster.close()
        enqueuer.close()
