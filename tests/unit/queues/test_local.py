from __future__ import annotations

import asyncio
import random

import pytest
from stores.factories import new
from stores.memory import MemoryStore
from support.leases import FixedClock

from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.local import LocalQueue
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import ClassFilter, LeaseRequest, Receipt, Report
from gorge_worker.queues.service import QueueService


class Bench:
    """A local queue whose store's clock differs from the worker's: it is 1000 s ahead."""

    def __init__(self) -> None:
        self.clock = FixedClock(boottime=500.0)
        self.store = MemoryStore(FixedClock(wall=self.clock.epoch + 1000.7))
        rng = random.Random(1)
        self.service = QueueService(self.store, lease_duration=100, clock=self.clock, rng=rng)
        self.queue = LocalQueue(self.service, OwnerNames(self.clock, rng), clock=self.clock, lease_duration=100)

    async def lease(self, limit: int = 1, *classes: str, wait: float = 0.0) -> list[Lease]:
        leased = await self.queue.lease(LeaseRequest(limit=limit, classes=ClassFilter(classes), wait=wait))
        assert leased.unusable == []
        return leased.leases

    async def report(self, lease: Lease, outcome: Outcome) -> Receipt:
        [result] = await self.queue.report([Report(lease=lease, outcome=outcome, duration=5)])
        return result.receipt


async def test_a_lease_ends_by_the_workers_clock_no_later_than_by_the_stores() -> None:
    bench = Bench()
    await bench.service.enqueue([new("A", '"x"')])
    [lease] = await bench.lease()
    assert (lease.task.data, lease.task.lease_owner) == ('"x"', lease.owner)
    assert lease.expires == lease.task.lease_expires == int(bench.store.clock.wall()) + 100
    assert lease.ends_at == 500.0 + 100


async def test_the_time_that_a_call_waited_does_not_shorten_its_lease() -> None:
    bench = Bench()
    waiting = asyncio.create_task(bench.lease(wait=30))
    await asyncio.sleep(0)
    bench.clock.now += 29
    await bench.service.enqueue([new()])
    [lease] = await waiting
    assert lease.ends_at == 529.0 + 100


async def test_every_lease_call_has_an_owner_of_its_own() -> None:
    bench = Bench()
    await bench.service.enqueue([new(), new(), new()])
    first, second = await bench.lease(2)
    [third] = await bench.lease(2)
    assert first.owner == second.owner != third.owner


async def test_classes_and_limit_are_passed_on() -> None:
    bench = Bench()
    await bench.service.enqueue([new("A"), new("B"), new("B"), new("B")])
    assert [lease.task.task_class for lease in await bench.lease(2, "B", "C")] == ["B", "B"]


@pytest.mark.parametrize(
    ("outcome", "owner", "failures"),
    [
        (Outcome.temporary_failure("later"), "(retry)", 1),
        (Outcome.yielded(60), "(yield)", 0),
        (Outcome.released("filtered"), None, 0),
        (Outcome.released("filtered", 60), "(yield)", 0),
    ],
)
async def test_an_outcome_is_reported_under_its_lease(outcome: Outcome, owner: str | None, failures: int) -> None:
    bench = Bench()
    await bench.service.enqueue([new()])
    [lease] = await bench.lease()
    assert await bench.report(lease, outcome) is Receipt.ACCEPTED
    task = await bench.service.task(lease.task.id)
    assert (task.lease_owner, task.failure_count) == (owner, failures)
    assert await bench.report(lease, outcome) is Receipt.LEASE_LOST


async def test_a_store_in_trouble_is_a_queue_in_trouble() -> None:
    bench = Bench()
    await bench.service.enqueue([new()])
    [lease] = await bench.lease()
    bench.store.trouble = True
    with pytest.raises(QueueTrouble, match="the disk is full"):
        await bench.lease()
    report = Report(lease=lease, outcome=Outcome.success(), duration=5)
    results = await bench.queue.report([report, report])
    assert [(result.receipt, result.reason) for result in results] == [(Receipt.TROUBLE, "the disk is full")] * 2
    bench.store.trouble = False
    assert await bench.report(lease, Outcome.success()) is Receipt.ACCEPTED


async def test_giving_back_waits_for_what_a_cancelled_call_had_leased() -> None:
    bench = Bench()
    [task] = await bench.service.enqueue([new()])
    call = asyncio.create_task(bench.lease())
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait((call,))
    await bench.queue.give_back()
    assert bench.store.lease_calls == 1, "the call had leased by then"
    assert (await bench.service.task(task.id)).lease_owner is None


async def test_closing_it_leaves_the_service_open() -> None:
    bench = Bench()
    await bench.queue.rest()
    await bench.queue.close()
    await bench.service.enqueue([new()])
    assert len(await bench.lease()) == 1


def test_it_can_wait_and_filter_and_take_many_reports_at_once() -> None:
    features = Bench().queue.features
    assert (features.long_poll, features.class_filter, features.report_batch) == (25.0, True, 500)
    assert features.report_concurrency <= 4
