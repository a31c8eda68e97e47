"""Generation 1: what is said under a lease carries it, and what the answers mean."""

from __future__ import annotations

from typing import Any

import pytest
from support.scripted_http import OK, PAGE, ScriptedHttp, answer, data, error
from support.virtual_time import VirtualClock

from gorge_worker.http_client import HttpAnswer, NoAnswer, NotSent
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.gorge.attempts import Attempts
from gorge_worker.queues.gorge.fenced_reports import FencedReports
from gorge_worker.queues.gorge.fences import FencedLease, fenced_give_back
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.gorge.renewals import Renewals
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Renewal, Report

pytestmark = pytest.mark.virtual_time

GO = Generation(execution_version=1, fenced=True)
OURS = Generation(execution_version=1, fenced=True, release=True, lease_duration=300)
EPOCH = int(VirtualClock.EPOCH)
THREE = {"taskID": 7, "leaseOwner": "me", "leaseExpires": EPOCH + 2000}
CONFLICT, GONE = error(409, "ERR_LEASE_CONFLICT"), error(404, "ERR_NOT_FOUND")
CUT = NoAnswer("the connection broke")


def lease_of(generation: Generation = OURS) -> FencedLease:
    task = Task(id=7, task_class="Some", priority=3500)
    return FencedLease(task=task, owner="me", expires=EPOCH + 2000, ends_at=2000.0, generation=generation)


class Bench:
    def __init__(self) -> None:
        self.http = ScriptedHttp()
        self.attempts = Attempts()
        self.lost_touch = 0
        wire, clock = Wire(self.http), VirtualClock()
        self.clock = clock
        self.reports = FencedReports(wire=wire, attempts=self.attempts, clock=clock, on_lost_touch=self._lost)
        self.renewals = Renewals(wire, clock)

    def _lost(self) -> None:
        self.lost_touch += 1

    async def send(self, outcome: Outcome, generation: Generation = OURS) -> Receipt:
        lease = lease_of(generation)
        return (await self.reports.send(Report(lease=lease, outcome=outcome, duration=5), lease)).receipt

    async def renew(self, lease: Lease | None = None) -> Renewal:
        [renewal] = await self.renewals.renew([lease or lease_of()])
        return renewal

    @property
    def body(self) -> Any:
        return self.http.calls[-1].body


@pytest.mark.parametrize(
    ("outcome", "route", "fields"),
    [
        (Outcome.success(), "finalize", {"duration": 5, "followups": []}),
        (
            Outcome.success((NewTask(task_class="A", data="1"), NewTask(task_class="B", priority=1, delay_until=9))),
            "finalize",
            {
                "duration": 5,
                "followups": [
                    {"taskClass": "A", "data": "1", "priority": 3500},
                    {"taskClass": "B", "data": "", "priority": 1, "delayUntil": 9},
                ],
            },
        ),
        (Outcome.permanent_failure("no"), "resolve", {"outcome": "failure", "message": "no"}),
        (Outcome.temporary_failure("", 60), "resolve", {"outcome": "retry", "retryWait": 60}),
        (Outcome.temporary_failure("busy"), "resolve", {"outcome": "retry", "message": "busy"}),
        (Outcome.yielded(60), "resolve", {"outcome": "yield", "duration": 60}),
        (Outcome.yielded(1), "resolve", {"outcome": "yield", "duration": 5}),
        (Outcome.released("full", 60), "resolve", {"outcome": "yield", "duration": 60}),
        (Outcome.released("full"), "resolve", {"outcome": "release"}),
    ],
)
async def test_an_outcome_carries_its_lease(outcome: Outcome, route: str, fields: dict[str, Any]) -> None:
    bench = Bench()
    bench.http.always[route] = OK
    assert await bench.send(outcome) is Receipt.ACCEPTED
    assert bench.body == THREE | fields


async def test_a_queue_that_knows_no_release_is_told_of_a_short_yield() -> None:
    bench = Bench()
    bench.http.always["resolve"] = OK
    assert await bench.send(Outcome.released("full"), GO) is Receipt.ACCEPTED
    assert bench.body == THREE | {"outcome": "yield", "duration": 5}


def test_a_task_that_was_leased_unawares_goes_back_under_its_own_lease() -> None:
    fence = lease_of().fence
    assert fenced_give_back(fence, 0) == ("resolve", THREE | {"outcome": "release"})
    assert fenced_give_back(fence, 59.2) == ("resolve", THREE | {"outcome": "yield", "duration": 60})


@pytest.mark.parametrize(
    ("answered", "receipt"),
    [
        (CONFLICT, Receipt.LEASE_LOST),
        (GONE, Receipt.LEASE_LOST),
        (error(400), Receipt.REFUSED),
        (error(413), Receipt.REFUSED),
        (error(422), Receipt.REFUSED),
        (error(401), Receipt.TROUBLE),
        (error(429), Receipt.TROUBLE),
        (error(500), Receipt.TROUBLE),
        (answer(404, "404 page not found"), Receipt.TROUBLE),
        (answer(409, "<html>"), Receipt.TROUBLE),
        (PAGE, Receipt.TROUBLE),
        (CUT, Receipt.TROUBLE),
        (NotSent("refused"), Receipt.TROUBLE),
    ],
)
@pytest.mark.parametrize("outcome", [Outcome.success(), Outcome.temporary_failure("no")], ids=["finalize", "resolve"])
async def test_what_an_answer_means(outcome: Outcome, answered: HttpAnswer | Exception, receipt: Receipt) -> None:
    bench = Bench()
    bench.http.always |= {"finalize": answered, "resolve": answered}
    assert await bench.send(outcome) is receipt
    assert bench.lost_touch == isinstance(answered, Exception)
    refused_success = receipt is Receipt.REFUSED and bench.http.calls[0].route == "finalize"
    assert bench.attempts.is_open(7, 0.0) == (receipt is Receipt.TROUBLE or refused_success)
    assert len(bench.http.calls) == 1, "generation 0's calls are never tried instead"


async def test_after_a_lost_answer_a_conflict_says_that_nothing_may_have_been_lost() -> None:
    bench = Bench()
    bench.http.script("resolve", CUT, CONFLICT)
    report = Report(lease=lease_of(), outcome=Outcome.temporary_failure("no"), duration=5)
    await bench.reports.send(report, lease_of())
    result = await bench.reports.send(report, lease_of())
    assert result.receipt is Receipt.LEASE_LOST
    assert "may have been accepted" in result.reason


def row(owner: str | None = "me", seconds: int = 2300) -> HttpAnswer:
    shown = {"id": 7, "taskClass": "Some", "leaseOwner": owner, "leaseExpires": EPOCH + seconds}
    return data({name: value for name, value in shown.items() if value is not None})


@pytest.mark.parametrize(("generation", "seconds"), [(GO, 7200), (OURS, 300)])
async def test_a_renewal_asks_for_as_long_as_a_lease_lasts(generation: Generation, seconds: int) -> None:
    bench = Bench()
    bench.http.always["renew"] = row()
    renewal = await bench.renew(lease_of(generation))
    assert bench.body == THREE | {"duration": seconds}
    assert renewal.receipt is Receipt.ACCEPTED
    assert isinstance(renewal.lease, FencedLease)
    assert renewal.lease.expires == EPOCH + 2300
    wall = int(bench.clock.wall())
    assert renewal.lease.ends_at == bench.clock.boottime() + (EPOCH + 2300 - wall) - 2.0


async def test_a_lease_of_generation_0_stands_as_it_is() -> None:
    bench = Bench()
    old = Lease(task=Task(id=7, task_class="Some"), owner="me", expires=1, ends_at=1.0)
    assert await bench.renew(old) == Renewal(Receipt.ACCEPTED, old)
    assert bench.http.calls == []


@pytest.mark.parametrize("lost", [CONFLICT, GONE, row("somebody else"), row(None), row("me", 1999)])
async def test_a_lease_that_is_no_longer_held_is_lost(lost: HttpAnswer) -> None:
    bench = Bench()
    bench.http.always["renew"] = lost
    assert (await bench.renew()).receipt is Receipt.LEASE_LOST


@pytest.mark.parametrize("trouble", [CUT, error(500), PAGE, error(400), data(None), answer(200, "{")])
@pytest.mark.parametrize(
    ("shown", "receipt"),
    [
        (row("me", 2000), Receipt.ACCEPTED),
        (row("me", 2300), Receipt.ACCEPTED),
        (row("somebody else"), Receipt.LEASE_LOST),
        (row(None), Receipt.LEASE_LOST),
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
    assert (await bench.renew()).receipt is Receipt.TROUBLE
    renewal = await bench.renew()
    assert renewal.receipt is receipt
    assert [call.route for call in bench.http.calls] == ["renew", "tasks/7"]
    if receipt is Receipt.ACCEPTED:
        assert renewal.lease is not None
        assert renewal.lease.expires >= EPOCH + 2000
        bench.http.always["renew"] = row("me", 2600)
        assert (await bench.renew(renewal.lease)).receipt is Receipt.ACCEPTED


async def test_a_call_that_was_not_sent_leaves_no_doubt() -> None:
    bench = Bench()
    bench.http.script("renew", NotSent("refused"), row())
    assert (await bench.renew()).receipt is Receipt.TROUBLE
    assert (await bench.renew()).receipt is Receipt.ACCEPTED
    assert [call.route for call in bench.http.calls] == ["renew", "renew"]
