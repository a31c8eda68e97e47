"""Generation 1: what the answers to a report mean."""

from __future__ import annotations

import pytest
from support.fenced import CONFLICT, CUT, EXPIRES, GONE, fenced_lease, row
from support.scripted_http import OK, PAGE, ScriptedHttp, answer, error
from support.virtual_time import VirtualClock

from gorge_worker.http_client import HttpAnswer, NotSent
from gorge_worker.model import NewTask, Outcome
from gorge_worker.queues.gorge.attempts import Attempts
from gorge_worker.queues.gorge.fenced_reports import MOST_FOLLOWUPS, FencedReports
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Report, ReportResult

pytestmark = pytest.mark.virtual_time

SUCCESS, TEMPORARY = Outcome.success(), Outcome.temporary_failure("no")
LEASE = fenced_lease()


class Bench:
    def __init__(self) -> None:
        self.http = ScriptedHttp()
        self.attempts = Attempts()
        self.lost_touch = 0
        self.reports = FencedReports(
            wire=Wire(self.http), attempts=self.attempts, clock=VirtualClock(), on_lost_touch=self._lost
        )

    def _lost(self) -> None:
        self.lost_touch += 1

    async def send(self, outcome: Outcome) -> ReportResult:
        return await self.reports.send(Report(lease=LEASE, outcome=outcome, duration=5), LEASE)

    @property
    def routes(self) -> list[str]:
        return [call.route for call in self.http.calls]


ANSWERS = [
    (OK, Receipt.ACCEPTED),
    (CONFLICT, Receipt.LEASE_LOST),
    (error(400), Receipt.REFUSED),
    (error(413), Receipt.REFUSED),
    (error(422), Receipt.REFUSED),
    (error(401), Receipt.TROUBLE),
    (error(403), Receipt.TROUBLE),
    (error(408), Receipt.TROUBLE),
    (error(429), Receipt.TROUBLE),
    (error(500), Receipt.TROUBLE),
    (answer(404, "404 page not found"), Receipt.TROUBLE),
    (answer(409, "<html>"), Receipt.TROUBLE),
    (answer(200, "<html>"), Receipt.TROUBLE),
    (PAGE, Receipt.TROUBLE),
    (CUT, Receipt.TROUBLE),
    (NotSent("refused"), Receipt.TROUBLE),
]


@pytest.mark.parametrize(("answered", "receipt"), ANSWERS)
@pytest.mark.parametrize("outcome", [SUCCESS, TEMPORARY], ids=["finalize", "resolve"])
async def test_what_an_answer_means(outcome: Outcome, answered: HttpAnswer | Exception, receipt: Receipt) -> None:
    bench = Bench()
    route = "finalize" if outcome is SUCCESS else "resolve"
    bench.http.always[route] = answered
    assert (await bench.send(outcome)).receipt is receipt
    refused_success = receipt is Receipt.REFUSED and outcome is SUCCESS
    assert bench.attempts.is_open(7, 0.0) == (receipt is Receipt.TROUBLE or refused_success)
    assert bench.routes == [route], "generation 0's calls are never tried instead"


@pytest.mark.parametrize("outcome", [SUCCESS, TEMPORARY])
@pytest.mark.parametrize(
    ("shown", "receipt"),
    [
        (GONE, Receipt.LEASE_LOST),
        (row("somebody else"), Receipt.LEASE_LOST),
        (row(None), Receipt.LEASE_LOST),
        (row("me", EXPIRES - 1), Receipt.LEASE_LOST),
        (row("me", EXPIRES), Receipt.TROUBLE),
        (error(500), Receipt.TROUBLE),
        (CUT, Receipt.TROUBLE),
    ],
)
async def test_a_404_of_the_call_is_told_from_one_of_the_task(
    outcome: Outcome, shown: HttpAnswer | Exception, receipt: Receipt
) -> None:
    bench = Bench()
    bench.http.always["tasks/7"] = shown
    assert (await bench.send(outcome)).receipt is receipt
    assert bench.lost_touch == (receipt is Receipt.TROUBLE), "another queue may have come up"
    assert bench.routes[1:] == ["tasks/7"]


@pytest.mark.parametrize(("answered", "times"), [(CUT, 1), (NotSent("refused"), 1), (error(500), 0), (PAGE, 0)])
async def test_a_queue_that_can_not_be_reached_may_be_another_one_afterwards(
    answered: HttpAnswer | Exception, times: int
) -> None:
    bench = Bench()
    bench.http.always["finalize"] = answered
    await bench.send(SUCCESS)
    assert bench.lost_touch == times


async def test_a_success_whose_answer_was_lost_is_simply_sent_again() -> None:
    bench = Bench()
    bench.http.script("finalize", CUT, OK)
    outcome = Outcome.success((NewTask(task_class="Child"),))
    assert (await bench.send(outcome)).receipt is Receipt.TROUBLE
    assert (await bench.send(outcome)).receipt is Receipt.ACCEPTED
    first, second = bench.http.bodies("finalize")
    assert first == second


@pytest.mark.parametrize("lost", [CUT, PAGE])
async def test_after_a_lost_answer_a_conflict_says_that_nothing_may_have_been_lost(
    lost: HttpAnswer | Exception,
) -> None:
    bench = Bench()
    bench.http.script("resolve", lost, CONFLICT)
    await bench.send(TEMPORARY)
    result = await bench.send(TEMPORARY)
    assert result.receipt is Receipt.LEASE_LOST
    assert "may have been accepted" in result.reason


@pytest.mark.parametrize("before", [NotSent("refused"), error(500), error(429)])
async def test_a_conflict_after_calls_that_did_nothing_raises_no_hope(before: HttpAnswer | Exception) -> None:
    bench = Bench()
    bench.http.script("resolve", before, CONFLICT)
    await bench.send(TEMPORARY)
    assert (await bench.send(TEMPORARY)).reason == "409 ERR_LEASE_CONFLICT: no"


async def test_a_refused_success_is_finished_by_the_failure_in_its_place() -> None:
    bench = Bench()
    bench.http.always |= {"finalize": error(422), "resolve": OK}
    await bench.send(SUCCESS)
    assert (await bench.send(Outcome.permanent_failure("refused"))).receipt is Receipt.ACCEPTED
    assert not bench.attempts.is_open(7, 0.0)


@pytest.mark.parametrize(("count", "calls"), [(MOST_FOLLOWUPS, 1), (MOST_FOLLOWUPS + 1, 0)])
async def test_more_follow_ups_than_a_queue_takes_are_refused_with_the_reason(count: int, calls: int) -> None:
    bench = Bench()
    bench.http.always["finalize"] = OK
    result = await bench.send(Outcome.success((NewTask(task_class="Child"),) * count))
    assert len(bench.http.calls) == calls
    if not calls:
        assert result == ReportResult(Receipt.REFUSED, "1001 follow-ups, a queue takes 1000 with one success")


async def test_retry_after_is_passed_on() -> None:
    bench = Bench()
    bench.http.always["finalize"] = error(503, Retry_After="7")
    assert (await bench.send(SUCCESS)).retry_after == 7
