from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest
from stores.factories import new
from stores.memory import MemoryStore
from support.leases import FixedClock

from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.local import LocalQueue
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import ClassFilter, LeaseRequest, Receipt, Renewal, Report
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import Renewed, StoreError


class Bench:
    """A local queue whose store's clock differs from the worker's: it is 1000 s ahead."""

    def __init__(self) -> None:
        self.clock = FixedClock(boottime=500.0)
        self.store = MemoryStore(FixedClock(wall=self.clock.epoch + 1000.7))
        rng = random.Random(1)
        self.service = QueueService(self.store, lease_duration=7200, clock=self.clock, rng=rng)
        self.queue = LocalQueue(self.service, OwnerNames(self.clock, rng), clock=self.clock, lease_duration=100)

    async def lease(self, limit: int = 1, *classes: str, wait: float = 0.0) -> list[Lease]:
        leased = await self.queue.lease(LeaseRequest(limit=limit, classes=ClassFilter(classes), wait=wait))
        assert leased.unusable == []
        return leased.leases

    async def report(self, lease: Lease, outcome: Outcome) -> Receipt:
        [result] = await self.queue.report([Report(lease=lease, outcome=outcome, duration=5)])
        return result.receipt

    async def leased(self, number: int) -> list[Lease]:
        await self.service.enqueue([new() for _ in range(number)])
        return await self.lease(number)

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        assert isinstance(self.store.clock, FixedClock)
        self.store.clock.epoch += seconds


class UnansweredRenewals(Bench):
    """The store's answers to renewals get lost, whether it has renewed or not."""

    def __init__(self, *, renews: bool) -> None:
        super().__init__()
        self.lost = True
        renew = self.store.renew

        async def unanswered(leases: Sequence[Lease], duration: int) -> list[Renewed]:
            if not self.lost:
                return await renew(leases, duration)
            if renews:
                await renew(leases, duration)
            raise StoreError("the connection is gone")

        self.store.renew = unanswered  # type: ignore[method-assign]

    async def in_doubt(self, number: int = 1) -> list[Lease]:
        """Leases whose renewal, 10 s later, got no answer."""
        leases = await self.leased(number)
        self.pass_time(10)
        assert receipts(await self.queue.renew(leases)) == [Receipt.TROUBLE] * number
        self.lost = False
        return leases


def receipts(renewals: list[Renewal]) -> list[Receipt]:
    return [one.receipt for one in renewals]


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


async def test_a_renewed_lease_ends_later_and_is_reported_under_its_new_expiry() -> None:
    bench = Bench()
    [lease] = await bench.leased(1)
    bench.pass_time(60)
    [renewal] = await bench.queue.renew([lease])
    assert renewal.receipt is Receipt.ACCEPTED
    assert renewal.lease is not None
    assert (renewal.lease.expires, renewal.lease.ends_at) == (lease.expires + 60, 560.0 + 100)
    assert renewal.lease.task == lease.task
    assert await bench.report(lease, Outcome.success()) is Receipt.LEASE_LOST
    assert await bench.report(renewal.lease, Outcome.success()) is Receipt.ACCEPTED


async def test_time_that_a_renewal_takes_does_not_make_the_lease_look_longer() -> None:
    bench = Bench()
    [lease] = await bench.leased(1)
    renew = bench.store.renew

    async def slow(leases: Sequence[Lease], duration: int) -> list[Renewed]:
        bench.clock.now += 7
        return await renew(leases, duration)

    bench.store.renew = slow  # type: ignore[method-assign]
    [renewal] = await bench.queue.renew([lease])
    assert renewal.lease is not None
    assert renewal.lease.ends_at == 500.0 + 100


async def test_each_lease_of_a_renewal_has_its_own_fate() -> None:
    bench = Bench()
    first, gone, freed, last = await bench.leased(4)
    await bench.service.cancel(gone.task.id)
    await bench.service.yield_task(freed.task.id, 60)
    renewals = await bench.queue.renew([first, gone, freed, last])
    accepted, lost = Receipt.ACCEPTED, Receipt.LEASE_LOST
    assert receipts(renewals) == [accepted, lost, lost, accepted]
    assert [one.lease.task.id for one in renewals if one.lease] == [first.task.id, last.task.id]
    assert renewals[1].reason


async def test_a_store_in_trouble_leaves_leases_in_doubt_and_none_lost() -> None:
    bench = Bench()
    leases = await bench.leased(2)
    bench.store.trouble = True
    renewals = await bench.queue.renew(leases)
    assert [(one.receipt, one.reason) for one in renewals] == [(Receipt.TROUBLE, "the disk is full")] * 2
    assert receipts(await bench.queue.renew(leases)) == [Receipt.TROUBLE] * 2, "it can't be looked at either"
    bench.store.trouble = False
    assert receipts(await bench.queue.renew(leases)) == [Receipt.ACCEPTED] * 2


@pytest.mark.parametrize("renews", [True, False])
async def test_a_lease_in_doubt_is_looked_at_and_renewed_whether_the_lost_answer_was_a_yes_or_not(
    renews: bool,  # noqa: FBT001
) -> None:
    bench = UnansweredRenewals(renews=renews)
    leases = await bench.in_doubt(2)
    bench.pass_time(10)
    renewals = await bench.queue.renew(leases)
    assert receipts(renewals) == [Receipt.ACCEPTED] * 2
    assert [one.lease.expires for one in renewals if one.lease] == [leases[0].expires + 20] * 2


@pytest.mark.parametrize("how", ["cancelled", "yielded", "leased by another", "leased here again"])
async def test_a_lease_in_doubt_that_is_gone_is_lost(how: str) -> None:
    bench = UnansweredRenewals(renews=True)
    [lease] = await bench.in_doubt()
    match how:
        case "cancelled":
            await bench.service.cancel(lease.task.id)
        case "yielded":
            await bench.service.yield_task(lease.task.id, 3600)
        case _:
            bench.pass_time(200)
            another = how == "leased by another"
            assert await (bench.service.lease(owner="php", limit=1) if another else bench.lease())
    assert receipts(await bench.queue.renew([lease])) == [Receipt.LEASE_LOST]


async def test_only_leases_in_doubt_are_looked_at() -> None:
    bench = UnansweredRenewals(renews=True)
    [doubted] = await bench.in_doubt()
    [other] = await bench.leased(1)
    looks: list[int] = []
    look = bench.store.task

    async def counted(task_id: int) -> object:
        looks.append(task_id)
        return await look(task_id)

    bench.store.task = counted  # type: ignore[method-assign, assignment]
    renewals = await bench.queue.renew([doubted, other])
    assert receipts(renewals) == [Receipt.ACCEPTED] * 2
    assert receipts(await bench.queue.renew([one.lease for one in renewals if one.lease])) == [Receipt.ACCEPTED] * 2
    assert looks == [doubted.task.id]


async def test_a_renewal_that_is_broken_off_leaves_its_leases_in_doubt() -> None:
    bench = UnansweredRenewals(renews=True)
    bench.lost = False
    [lease] = await bench.leased(1)
    renew, begun = bench.store.renew, asyncio.Event()

    async def endless(leases: Sequence[Lease], duration: int) -> list[Renewed]:
        await renew(leases, duration)
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    bench.store.renew = endless  # type: ignore[method-assign]
    bench.pass_time(10)
    call = asyncio.create_task(bench.queue.renew([lease]))
    await begun.wait()
    call.cancel()
    await asyncio.wait([call])
    bench.store.renew = renew  # type: ignore[method-assign]
    assert receipts(await bench.queue.renew([lease])) == [Receipt.ACCEPTED]


async def test_a_renewal_that_an_earlier_one_has_overtaken_in_the_store_is_trouble_and_no_loss() -> None:
    bench = UnansweredRenewals(renews=False)
    [lease] = await bench.in_doubt()
    bench.pass_time(10)
    renew = bench.store.renew

    async def overtaken(leases: Sequence[Lease], duration: int) -> list[Renewed]:
        bench.store.renew = renew  # type: ignore[method-assign]
        await renew(leases, duration)
        return await renew(leases, duration)

    bench.store.renew = overtaken  # type: ignore[method-assign]
    assert receipts(await bench.queue.renew([lease])) == [Receipt.TROUBLE]
    assert receipts(await bench.queue.renew([lease])) == [Receipt.ACCEPTED]


async def test_doubts_are_forgotten_with_their_leases() -> None:
    bench = Bench()
    leases = await bench.leased(500)
    bench.store.trouble = True
    await bench.queue.renew(leases)
    assert len(bench.queue._in_doubt) == 500
    bench.pass_time(101)
    bench.store.trouble = False
    later = await bench.lease()
    await bench.queue.renew(later)
    assert bench.queue._in_doubt == {}


async def test_a_settled_or_reported_lease_is_in_doubt_no_longer() -> None:
    bench = Bench()
    first, second = await bench.leased(2)
    bench.store.trouble = True
    await bench.queue.renew([first, second])
    bench.store.trouble = False
    await bench.queue.renew([first])
    await bench.report(second, Outcome.success())
    assert bench.queue._in_doubt == {}


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
    assert features.class_exclusion
    assert features.renews
