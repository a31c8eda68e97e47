"""Generation 1: leases are renewed, and after a lost answer looked up first."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fenced import CONFLICT, CUT, EPOCH, EXPIRES, GO, GONE, OURS, THREE, fenced_lease, row
from support.scripted_http import PAGE, Call, ScriptedHttp, answer, data, error
from support.virtual_time import VirtualClock, run_virtually

from gorge_worker.http_client import HttpAnswer, NoAnswer, NotSent
from gorge_worker.model import Lease, Task
from gorge_worker.queues.gorge import renewals as module
from gorge_worker.queues.gorge.fences import FencedLease
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.gorge.renewals import AT_ONCE, LONGEST, Renewals
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Renewal

pytestmark = pytest.mark.virtual_time


class Bench:
    def __init__(self) -> None:
        self.http = ScriptedHttp()
        self.clock = VirtualClock()
        self.lost_touch = 0
        self.renewals = Renewals(Wire(self.http), self.clock, self._lost)

    def _lost(self) -> None:
        self.lost_touch += 1

    async def renew(self, lease: Lease | None = None) -> Renewal:
        [renewal] = await self.renewals.renew([lease or fenced_lease()])
        return renewal

    @property
    def routes(self) -> list[str]:
        return [call.route for call in self.http.calls]


async def hang(_: Call) -> HttpAnswer:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


async def renewed(call: Call) -> HttpAnswer:
    """What a queue answers that has renewed the lease by 300 s."""
    return row("me", call.body["leaseExpires"] + 300, call.body["taskID"])


@pytest.mark.parametrize(("generation", "seconds"), [(GO, 7200), (OURS, 300)])
async def test_a_renewal_asks_for_as_long_as_a_lease_lasts(generation: Generation, seconds: int) -> None:
    bench = Bench()
    bench.http.always["renew"] = row("me", EPOCH + 2300)
    renewal = await bench.renew(fenced_lease(generation))
    assert bench.http.bodies("renew") == [THREE | {"duration": seconds}]
    assert renewal.receipt is Receipt.ACCEPTED
    assert isinstance(renewal.lease, FencedLease)
    assert renewal.lease == msgspec.structs.replace(
        fenced_lease(generation), expires=EPOCH + 2300, ends_at=renewal.lease.ends_at
    )


async def test_the_end_counts_from_before_the_call_and_by_the_queue_s_clock() -> None:
    bench = Bench()

    async def slow(_: Call) -> HttpAnswer:
        await asyncio.sleep(3)
        body = {"data": {"id": 7, "leaseOwner": "me", "leaseExpires": EXPIRES + 7200}}
        return answer(200, json.dumps(body), Date="Tue, 14 Nov 2023 22:46:40 GMT")  # EPOCH + 2000

    bench.http.always["renew"] = slow
    asked_at = bench.clock.boottime()
    renewal = await bench.renew()
    assert renewal.lease is not None
    assert renewal.lease.ends_at == asked_at + 7200 - 2


async def test_a_lease_of_generation_0_stands_as_it_is() -> None:
    bench = Bench()
    old = Lease(task=Task(id=7, task_class="Some"), owner="me", expires=1, ends_at=1.0)
    assert await bench.renew(old) == Renewal(Receipt.ACCEPTED, old)
    assert bench.http.calls == []


@pytest.mark.parametrize("lost", [CONFLICT, row("somebody else"), row(None), row("me", EXPIRES - 1)])
async def test_a_lease_that_is_no_longer_held_is_lost(lost: HttpAnswer) -> None:
    bench = Bench()
    bench.http.always["renew"] = lost
    assert (await bench.renew()).receipt is Receipt.LEASE_LOST
    assert bench.routes == ["renew"]


@pytest.mark.parametrize("missing", [GONE, answer(404, "404 page not found")])
@pytest.mark.parametrize(
    ("shown", "receipt"),
    [
        (GONE, Receipt.LEASE_LOST),
        (row("somebody else"), Receipt.LEASE_LOST),
        (row("me", EXPIRES), Receipt.ACCEPTED),
        (error(500), Receipt.TROUBLE),
        (answer(404, "404 page not found"), Receipt.TROUBLE),
    ],
)
async def test_a_queue_that_knows_renew_no_more_is_asked_for_the_task(
    missing: HttpAnswer, shown: HttpAnswer, receipt: Receipt
) -> None:
    bench = Bench()
    bench.http.always |= {"renew": missing, "tasks/7": shown}
    renewal = await bench.renew()
    assert renewal.receipt is receipt
    assert bench.routes == ["renew", "tasks/7"]
    assert bench.lost_touch == 1, "another queue may have come up"
    if renewal.lease is not None:
        assert renewal.lease.expires == EXPIRES


@pytest.mark.parametrize("trouble", [CUT, error(500), PAGE, error(400), data(None), answer(200, "{")])
@pytest.mark.parametrize(
    ("shown", "receipt"),
    [
        (row("me", EXPIRES), Receipt.ACCEPTED),
        (row("me", EPOCH + 2300), Receipt.ACCEPTED),
        (row("somebody else"), Receipt.LEASE_LOST),
        (row(None), Receipt.LEASE_LOST),
        (row("me", EXPIRES - 1), Receipt.LEASE_LOST),
        (GONE, Receipt.LEASE_LOST),
        (error(500), Receipt.TROUBLE),
        (CUT, Receipt.TROUBLE),
    ],
)
async def test_after_trouble_the_lease_is_looked_up(
    trouble: HttpAnswer | Exception, shown: HttpAnswer | Exception, receipt: Receipt
) -> None:
    bench = Bench()
    bench.http.script("renew", trouble)
    bench.http.always["tasks/7"] = shown
    first = await bench.renew()
    assert (first.receipt, bool(first.reason)) == (Receipt.TROUBLE, True)
    renewal = await bench.renew()
    assert renewal.receipt is receipt
    assert bench.routes == ["renew", "tasks/7"]
    if receipt is Receipt.ACCEPTED:
        assert renewal.lease is not None
        assert renewal.lease.expires >= EXPIRES
        bench.http.always["renew"] = row("me", EPOCH + 2600)
        assert (await bench.renew(renewal.lease)).receipt is Receipt.ACCEPTED, "and then it is renewed again"
    elif receipt is Receipt.TROUBLE:
        await bench.renew()
        assert bench.routes == ["renew", "tasks/7", "tasks/7"]


async def test_a_call_that_was_not_sent_leaves_no_doubt() -> None:
    bench = Bench()
    bench.http.script("renew", NotSent("refused"), row())
    assert (await bench.renew()).receipt is Receipt.TROUBLE
    assert (await bench.renew()).receipt is Receipt.ACCEPTED
    assert bench.routes == ["renew", "renew"]
    assert bench.lost_touch == 1


async def test_the_answers_of_a_batch_that_was_broken_off_are_not_forgotten() -> None:
    """The caller has heard of none of them: its leases are older than the queue's."""
    bench = Bench()
    leases = [fenced_lease(task_id=number) for number in (1, 2)]

    async def second_hangs(call: Call) -> HttpAnswer:
        return await (hang(call) if call.body["taskID"] == 2 else renewed(call))

    bench.http.always |= {"renew": second_hangs, "tasks/1": row(), "tasks/2": row()}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await bench.renewals.renew(leases)
    bench.http.always["renew"] = CONFLICT
    renewals = await bench.renewals.renew(leases)
    assert [renewal.receipt for renewal in renewals] == [Receipt.ACCEPTED] * 2
    assert bench.http.bodies("renew")[2:] == []


async def test_calls_that_hang_cost_the_others_nothing() -> None:
    bench = Bench()
    leases = [fenced_lease(task_id=number) for number in range(1, 51)]

    async def some_hang(call: Call) -> HttpAnswer:
        return await (hang(call) if call.body["taskID"] % 10 == 0 else renewed(call))

    bench.http.always["renew"] = some_hang
    began = bench.clock.boottime()
    renewals = await bench.renewals.renew(leases)
    assert bench.clock.boottime() - began == LONGEST
    assert [lease.task.id for lease, one in zip(leases, renewals, strict=True) if not one.lease] == [10, 20, 30, 40, 50]
    assert {one.receipt for one in renewals} == {Receipt.ACCEPTED, Receipt.TROUBLE}


async def test_the_batch_takes_a_part_of_what_is_left_of_its_leases() -> None:
    bench = Bench()
    bench.http.always["renew"] = hang
    began = bench.clock.boottime()
    assert (await bench.renew(fenced_lease(left=began + 8))).receipt is Receipt.TROUBLE
    assert bench.clock.boottime() - began == 2


async def test_those_that_end_first_are_renewed_first_and_so_many_at_once() -> None:
    bench = Bench()
    running: list[int] = []
    peak = 0
    order: list[int] = []

    async def counted(call: Call) -> HttpAnswer:
        nonlocal peak
        order.append(call.body["taskID"])
        running.append(call.body["taskID"])
        peak = max(peak, len(running))
        await asyncio.sleep(0.01)
        running.remove(call.body["taskID"])
        return await renewed(call)

    bench.http.always["renew"] = counted
    leases = [fenced_lease(task_id=number, left=2000.0 + number * 7 % 40) for number in range(1, 41)]
    renewals = await bench.renewals.renew(leases)
    assert order == [lease.task.id for lease in sorted(leases, key=lambda lease: lease.ends_at)]
    assert peak == AT_ONCE
    assert [one.lease and one.lease.expires for one in renewals] == [lease.expires + 300 for lease in leases]


async def test_nothing_to_renew_is_no_trouble() -> None:
    assert await Bench().renewals.renew([]) == []


async def test_the_doubts_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOUBTS", 2)
    bench = Bench()
    bench.http.always |= {"renew": CUT, "tasks/2": row(), "tasks/3": row()}
    for number in (1, 2, 3):
        await bench.renew(fenced_lease(task_id=number))
    bench.http.always["renew"] = CONFLICT
    receipts = [(await bench.renew(fenced_lease(task_id=number))).receipt for number in (2, 3, 1)]
    assert receipts == [Receipt.ACCEPTED, Receipt.ACCEPTED, Receipt.LEASE_LOST]


class OneRow:
    """A queue with one leased task. Each call meets a fate: answered, lost before or after the queue has acted on it,
    hung so long that the caller gives up, or answered with an error.
    """

    def __init__(self, bench: Bench) -> None:
        self.owner, self.expires = "me", EXPIRES
        self.fate = "answered"
        bench.http.always |= {"renew": self._renew, "tasks/7": self._show}

    async def _renew(self, call: Call) -> HttpAnswer:
        if self.fate == "lost before":
            raise NoAnswer("cut")
        if self.fate == "error":
            return error(500)
        if (call.body["leaseOwner"], call.body["leaseExpires"]) != (self.owner, self.expires):
            return CONFLICT
        self.expires += 10
        return await self._answer(call)

    async def _show(self, call: Call) -> HttpAnswer:
        return error(500) if self.fate == "error" else await self._answer(call)

    async def _answer(self, call: Call) -> HttpAnswer:
        if self.fate == "hung":
            return await hang(call)
        if self.fate.startswith("lost"):
            raise NoAnswer("cut")
        return row(self.owner, self.expires)


FATES = st.sampled_from(["answered", "lost before", "lost after", "hung", "error"])


@given(st.lists(FATES, max_size=12), st.integers(0, 12))
def test_whatever_gets_lost_a_lease_is_lost_only_when_it_was_taken_away(fates: list[str], taken_at: int) -> None:
    async def main() -> None:
        bench, lease = Bench(), fenced_lease()
        queue = OneRow(bench)
        for turn, fate in enumerate([*fates, "answered", "answered"]):
            if turn == taken_at:
                queue.owner = "somebody else"
            queue.fate = fate
            try:
                async with asyncio.timeout(1):
                    [renewal] = await bench.renewals.renew([lease])
            except TimeoutError:
                continue
            if renewal.receipt is Receipt.LEASE_LOST:
                assert queue.owner != "me"
                return
            if renewal.receipt is Receipt.ACCEPTED:
                assert isinstance(renewal.lease, FencedLease)
                assert (queue.owner, queue.expires) == ("me", renewal.lease.expires)
                lease = renewal.lease
        assert queue.owner == "me", "the loss was noticed in the end"

    run_virtually(main())
