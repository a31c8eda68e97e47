"""The adapter on this product's own queue server, over a real socket and a real store."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.waiting import until
from support.web import LOOPBACK, serving

from gorge_worker.clock import SystemClock
from gorge_worker.http_client import HttpClient
from gorge_worker.model import NewTask, Outcome
from gorge_worker.queues.gorge import GorgeQueue
from gorge_worker.queues.gorge.listing import find_leased
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import ClassFilter, Features, LeaseRequest, Receipt, Report
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.sqlite.store import SqliteStore
from gorge_worker.queues.store import YIELD_OWNER
from gorge_worker.web.guard import Guard
from gorge_worker.web.queue_api import queue_app

POLL = LeaseRequest(limit=4, classes=ClassFilter(("Some", "Child")), wait=20.0)


class Lab:
    """A queue server, its store's service, a client of it, and the adapter."""

    def __init__(self, service: QueueService, url: str) -> None:
        clock, rng = SystemClock(), random.Random(1)
        self.service = service
        self.http = HttpClient(url, headers={}, connections=8)
        self.queue = GorgeQueue(self.http, OwnerNames(clock, rng), clock, rng)

    async def enqueue(self, *tasks: NewTask) -> list[int]:
        return [task.id for task in await self.service.enqueue(tasks)]

    async def leased(self) -> list[str]:
        """The owners of leases that somebody has, or seems to have."""
        owners = [task.lease_owner for task in await self.service.active_tasks(limit=100, offset=0)]
        return [owner for owner in owners if owner and owner != YIELD_OWNER]


@asynccontextmanager
async def lab(folder: Path) -> AsyncIterator[Lab]:
    clock, rng = SystemClock(), random.Random(2)
    store = await SqliteStore.open(folder / "queue.db", retry_wait=300, clock=clock)
    service = QueueService(store, lease_duration=7200, clock=clock, rng=rng)
    guard = Guard(LOOPBACK, "")
    try:
        async with serving(queue_app(service, guard, rng), guard) as server:
            one = Lab(service, f"http://127.0.0.1:{server.port}")
            try:
                yield one
            finally:
                await one.queue.close()
    finally:
        await service.close()


async def test_a_long_poll_ends_with_the_first_task_of_its_classes(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        await it.enqueue(NewTask(task_class="Foreign"))
        waiting = asyncio.create_task(it.queue.lease(POLL))
        expected = Features(class_filter=True, class_exclusion=True, renews=True, long_poll=25.0)
        await until(lambda: it.queue.features == expected)
        [task] = await it.enqueue(NewTask(task_class="Some", data='{"é": 1}'))
        [lease] = (await waiting).leases
        assert (lease.task.id, lease.task.data) == (task, '{"é": 1}')
        assert 7190 < lease.ends_at - SystemClock().boottime() < 7200
        assert lease.expires == (await it.service.task(task)).lease_expires


async def test_outcomes_are_accepted(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        ids = await it.enqueue(*(NewTask(task_class="Some", priority=3500) for _ in range(4)))
        leases = (await it.queue.lease(POLL)).leases
        outcomes = [
            Outcome.success((NewTask(task_class="Child", data="1"),)),
            Outcome.permanent_failure("no"),
            Outcome.temporary_failure("busy", wait=60),
            Outcome.released("full", wait=60),
        ]
        reports = [
            Report(lease=lease, outcome=outcome, duration=7) for lease, outcome in zip(leases, outcomes, strict=True)
        ]
        assert [result.receipt for result in await it.queue.report(reports)] == [Receipt.ACCEPTED] * 4
        active = {task.id: task for task in await it.service.active_tasks(limit=10, offset=0)}
        assert [active[task_id].failure_count for task_id in ids[2:]] == [1, 0]
        [child] = active.keys() - set(ids)
        assert active[child].priority == 3500
        [again] = await it.queue.report(reports[:1])
        assert again.receipt is Receipt.ACCEPTED, "repeating a success is harmless"
        assert len(await it.service.active_tasks(limit=10, offset=0)) == len(active)
        for report in reports[2:]:
            [again] = await it.queue.report([report])
            assert again.receipt is Receipt.LEASE_LOST


async def test_a_renewed_lease_lasts_longer_and_the_old_one_counts_no_more(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        it.service.lease_duration = 100
        [task_id] = await it.enqueue(NewTask(task_class="Some"))
        [lease] = (await it.queue.lease(POLL)).leases
        it.service.lease_duration = 1000
        [first] = await it.queue.renew([lease])
        assert first.lease is not None
        assert (first.receipt, first.lease.expires) == (Receipt.ACCEPTED, lease.expires), "meta said 100 s"
        it.queue._meta.forget()
        await it.queue.lease(LeaseRequest(limit=1))
        later = (await it.service.renew([lease], 1000))[0].task
        assert later is not None
        [lost] = await it.queue.renew([lease])
        [refused] = await it.queue.report([Report(lease=lease, outcome=Outcome.success(), duration=1)])
        assert (lost.receipt, refused.receipt) == (Receipt.LEASE_LOST, Receipt.LEASE_LOST)
        assert (await it.service.task(task_id)).lease_expires == later.lease_expires


async def test_a_stale_worker_does_not_hit_the_next_holder(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        [task_id] = await it.enqueue(NewTask(task_class="Some"))
        [stale] = (await it.queue.lease(POLL)).leases
        await it.service.yield_task(task_id, 5)
        await it.service.awaken([task_id])
        [held] = (await it.queue.lease(POLL)).leases
        for outcome in (Outcome.success(), Outcome.temporary_failure("no"), Outcome.yielded(9), Outcome.released("no")):
            [result] = await it.queue.report([Report(lease=stale, outcome=outcome, duration=1)])
            assert result.receipt is Receipt.LEASE_LOST
        [renewal] = await it.queue.renew([stale])
        assert renewal.receipt is Receipt.LEASE_LOST
        now = await it.service.task(task_id)
        assert (now.lease_owner, now.failure_count) == (held.owner, 0)


async def test_a_released_task_is_back_at_once(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        [task_id] = await it.enqueue(NewTask(task_class="Some"))
        [lease] = (await it.queue.lease(POLL)).leases
        await it.queue.report([Report(lease=lease, outcome=Outcome.released("shutting down"), duration=0)])
        task = await it.service.task(task_id)
        assert (task.lease_owner, task.lease_expires) == (None, None)


async def test_excluded_classes_are_not_leased(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        _, wanted = await it.enqueue(NewTask(task_class="Paused"), NewTask(task_class="Other"))
        leased = await it.queue.lease(LeaseRequest(limit=9, classes=ClassFilter(without=("Paused",))))
        assert [lease.task.id for lease in leased.leases] == [wanted]


async def test_a_shutdown_during_a_long_poll_strands_nothing(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        for _ in range(5):
            waiting = asyncio.create_task(it.queue.lease(POLL))
            await until(lambda: it.queue.features.long_poll)
            await asyncio.sleep(0)
            await it.enqueue(NewTask(task_class="Some"))
            waiting.cancel()
            await asyncio.wait([waiting])
        await it.queue.give_back()
        async with asyncio.timeout(5):
            while await it.leased():  # noqa: ASYNC110 - the server takes back what nobody has read in its own time
                await asyncio.sleep(0.01)


async def test_what_an_owner_holds_can_be_found(tmp_path: Path) -> None:
    async with lab(tmp_path) as it:
        await it.enqueue(*(NewTask(task_class="Some") for _ in range(6)))
        held = {}
        for owner in ("pid:1:a", "pid:1:b", "pid:1:c"):
            tasks = await it.service.lease(owner=owner, limit=2)
            held[owner] = {task.id for task in tasks}
        for owners in (["pid:1:a"], ["pid:1:a", "pid:1:c"]):
            found = await find_leased(Wire(it.http), owners, SystemClock())
            assert {one.task_id for one in found} == set().union(*(held[owner] for owner in owners))
