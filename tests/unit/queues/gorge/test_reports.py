from __future__ import annotations

import pytest
from support.scripted_http import OK, PAGE, ScriptedHttp, answer, data, error
from support.virtual_time import VirtualClock

from gorge_worker.http_client import AnswerTooLarge, HttpAnswer, NoAnswer, NotSent
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.gorge.attempts import Attempts
from gorge_worker.queues.gorge.reports import Reports
from gorge_worker.queues.gorge.waits import Waits
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Report

LEASE = Lease(task=Task(id=7, task_class="Some", priority=3500), owner="me", expires=0, ends_at=1e9)
SUCCESS, TEMPORARY = Outcome.success(), Outcome.temporary_failure("busy")
CUT = NoAnswer("the connection broke")
INTERNAL, GONE = error(500, "ERR_INTERNAL"), error(404, "ERR_NOT_FOUND")
HERE, ELSEWHERE = data({"id": 7, "leaseOwner": "me"}), data({"id": 7})


class Bench:
    def __init__(self) -> None:
        self.http = ScriptedHttp()
        self.clock, self.waits, self.attempts = VirtualClock(), Waits(), Attempts()
        self.finished: list[int] = []
        self.lost_touch = 0
        self.reports = Reports(
            wire=Wire(self.http),
            attempts=self.attempts,
            waits=self.waits,
            clock=self.clock,
            on_finished=self.finished.append,
            on_lost_touch=self._lost,
        )

    def _lost(self) -> None:
        self.lost_touch += 1

    async def send(self, outcome: Outcome, times: int = 1) -> list[Receipt]:
        report = Report(lease=LEASE, outcome=outcome, duration=5)
        return [(await self.reports.send(report)).receipt for _ in range(times)]

    def is_open(self) -> bool:
        return self.attempts.is_open(7, self.clock.boottime())


async def test_an_accepted_report_is_finished_with() -> None:
    bench = Bench()
    bench.http.always["complete"] = OK
    assert await bench.send(SUCCESS) == [Receipt.ACCEPTED]
    assert bench.finished == [7]
    assert not bench.is_open()


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refusal_is_final(status: int) -> None:
    bench = Bench()
    bench.http.always["fail"] = error(status, "ERR_BAD_REQUEST", "why not")
    result = await bench.reports.send(Report(lease=LEASE, outcome=TEMPORARY, duration=5))
    assert result.receipt is Receipt.REFUSED
    assert result.reason == f"{status} ERR_BAD_REQUEST: why not"
    assert bench.finished == [7]
    assert bench.waits.due(7, bench.clock.boottime()), "it would come straight back"


async def test_a_refused_success_is_not_finished_before_something_else_is_reported() -> None:
    bench = Bench()
    bench.http.always |= {"complete": error(422), "fail": OK}
    assert await bench.send(SUCCESS) == [Receipt.REFUSED]
    assert bench.finished == []
    assert await bench.send(Outcome.permanent_failure("refused")) == [Receipt.ACCEPTED]
    assert bench.finished == [7]


@pytest.mark.parametrize("status", [404, 409])
async def test_a_lost_lease_is_final(status: int) -> None:
    bench = Bench()
    bench.http.always["complete"] = error(status)
    assert await bench.send(SUCCESS) == [Receipt.LEASE_LOST]
    assert bench.finished == [7]


@pytest.mark.parametrize(
    "bad",
    [error(status) for status in (401, 403, 408, 429, 500, 502, 503)]
    + [answer(status, "<html>") for status in (200, 201, 302, 400, 404, 409, 413, 422, 500, 504)]
    + [answer(200, "{}"), answer(200, ""), NotSent("refused"), CUT, AnswerTooLarge("too large")],
)
async def test_everything_else_is_trouble(bad: HttpAnswer | Exception) -> None:
    bench = Bench()
    bench.http.always["complete"] = bad
    assert await bench.send(SUCCESS) == [Receipt.TROUBLE]
    assert bench.finished == []
    assert bench.is_open()
    assert bench.lost_touch == isinstance(bad, Exception)


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("999", 60.0), ("soon", None)])
async def test_retry_after_is_passed_on(value: str, seconds: float | None) -> None:
    bench = Bench()
    bench.http.always["complete"] = error(503, Retry_After=value)
    result = await bench.reports.send(Report(lease=LEASE, outcome=SUCCESS, duration=5))
    assert result.retry_after == seconds


@pytest.mark.parametrize("lost", [CUT, PAGE, answer(200, "half"), AnswerTooLarge("too large")])
async def test_a_500_after_a_lost_answer_means_accepted_when_the_task_is_gone(lost: HttpAnswer | Exception) -> None:
    bench = Bench()
    bench.http.script("complete", lost, INTERNAL)
    bench.http.always["tasks/7"] = GONE
    assert await bench.send(SUCCESS, 2) == [Receipt.TROUBLE, Receipt.ACCEPTED]
    assert bench.finished == [7]


@pytest.mark.parametrize("there", [HERE, ELSEWHERE, INTERNAL, CUT, answer(404, "<html>")])
async def test_a_500_after_a_lost_answer_is_trouble_when_the_task_is_not_known_to_be_gone(
    there: HttpAnswer | Exception,
) -> None:
    bench = Bench()
    bench.http.script("complete", CUT, INTERNAL)
    bench.http.always["tasks/7"] = there
    assert await bench.send(SUCCESS, 2) == [Receipt.TROUBLE, Receipt.TROUBLE]


@pytest.mark.parametrize("first", [NotSent("refused"), error(503), error(500), answer(429, "<html>")])
async def test_no_doubt_is_left_by_a_call_that_certainly_did_nothing(first: HttpAnswer | Exception) -> None:
    bench = Bench()
    bench.http.script("complete", first, INTERNAL)
    bench.http.always["tasks/7"] = GONE
    assert await bench.send(SUCCESS, 2) == [Receipt.TROUBLE, Receipt.TROUBLE]
    assert bench.http.at("tasks/7") == []


async def test_three_plain_500s_for_a_task_that_is_gone_mean_a_lost_lease() -> None:
    bench = Bench()
    bench.http.always |= {"complete": INTERNAL, "tasks/7": GONE}
    assert await bench.send(SUCCESS, 3) == [Receipt.TROUBLE, Receipt.TROUBLE, Receipt.LEASE_LOST]
    assert len(bench.http.at("tasks/7")) == 1


async def test_500s_for_a_task_that_is_there_are_trouble_for_ever() -> None:
    bench = Bench()
    bench.http.always |= {"complete": INTERNAL, "tasks/7": HERE}
    assert await bench.send(SUCCESS, 6) == [Receipt.TROUBLE] * 6


async def test_only_500s_in_a_row_count() -> None:
    bench = Bench()
    bench.http.script("complete", INTERNAL, INTERNAL, error(503), INTERNAL, INTERNAL)
    bench.http.always["tasks/7"] = GONE
    assert await bench.send(SUCCESS, 5) == [Receipt.TROUBLE] * 5


async def test_a_404_after_a_lost_answer_means_accepted() -> None:
    bench = Bench()
    bench.http.script("complete", CUT, error(404, "ERR_NOT_FOUND"))
    assert await bench.send(SUCCESS, 2) == [Receipt.TROUBLE, Receipt.ACCEPTED]


@pytest.mark.parametrize("outcome", [TEMPORARY, Outcome.yielded(9), Outcome.released("full")])
async def test_after_a_lost_answer_a_task_that_is_back_is_not_reported_again(outcome: Outcome) -> None:
    bench = Bench()
    bench.http.always |= {"fail": CUT, "yield": CUT, "tasks/7": ELSEWHERE}
    assert await bench.send(outcome, 2) == [Receipt.TROUBLE, Receipt.ACCEPTED]
    assert len(bench.http.at("fail") + bench.http.at("yield")) == 1


@pytest.mark.parametrize("there", [HERE, GONE])
async def test_after_a_lost_answer_a_task_that_may_still_be_leased_here_is_reported_again(there: HttpAnswer) -> None:
    bench = Bench()
    bench.http.script("fail", CUT, OK)
    bench.http.always["tasks/7"] = there
    assert await bench.send(TEMPORARY, 2) == [Receipt.TROUBLE, Receipt.ACCEPTED]
    assert bench.http.bodies("fail")[0] == bench.http.bodies("fail")[1]


async def test_it_is_no_use_reporting_blindly_while_the_task_can_not_be_seen() -> None:
    bench = Bench()
    bench.http.always |= {"fail": CUT, "tasks/7": CUT}
    assert await bench.send(TEMPORARY, 3) == [Receipt.TROUBLE] * 3
    assert len(bench.http.at("fail")) == 1


@pytest.mark.parametrize(("wait", "kept"), [(None, 300), (77, 77), (0, 0)])
async def test_the_wait_of_a_failed_task_is_kept(wait: int | None, kept: int) -> None:
    bench = Bench()
    bench.http.always["fail"] = OK
    await bench.send(Outcome.temporary_failure("busy", wait))
    assert bench.waits.due(7, bench.clock.boottime()) == pytest.approx(bench.clock.boottime() + max(kept - 1, 1))


@pytest.mark.parametrize("outcome", [SUCCESS, Outcome.permanent_failure("gone"), Outcome.yielded(60)])
async def test_nothing_else_keeps_a_wait(outcome: Outcome) -> None:
    """A yielded task may be awakened at any time, and then must not wait."""
    bench = Bench()
    bench.http.always |= {"complete": OK, "fail": OK, "yield": OK}
    await bench.send(outcome)
    assert bench.waits.due(7, bench.clock.boottime()) is None


FAMILY = Outcome.success(tuple(NewTask(task_class=name) for name in "ABC"))


async def test_follow_ups_are_enqueued_before_the_parent_is_completed() -> None:
    bench = Bench()
    bench.http.always |= {"enqueue": OK, "complete": OK}
    assert await bench.send(FAMILY) == [Receipt.ACCEPTED]
    assert [call.route for call in bench.http.calls] == ["enqueue"] * 3 + ["complete"]
    assert [body["taskClass"] for body in bench.http.bodies("enqueue")] == ["A", "B", "C"]


async def test_a_repeated_try_goes_on_after_the_accepted_follow_ups() -> None:
    bench = Bench()
    bench.http.script("enqueue", OK, OK, INTERNAL, OK)
    bench.http.script("complete", error(503), OK)
    assert await bench.send(FAMILY, 3) == [Receipt.TROUBLE, Receipt.TROUBLE, Receipt.ACCEPTED]
    assert [body["taskClass"] for body in bench.http.bodies("enqueue")] == ["A", "B", "C", "C"]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refused_follow_up_refuses_the_success(status: int) -> None:
    bench = Bench()
    bench.http.script("enqueue", OK, error(status, "ERR_BAD_REQUEST", "too big"))
    result = await bench.reports.send(Report(lease=LEASE, outcome=FAMILY, duration=5))
    assert result.receipt is Receipt.REFUSED
    assert result.reason == f"follow-up not enqueued: {status} ERR_BAD_REQUEST: too big"
    assert bench.http.at("complete") == []


async def test_a_follow_up_knows_no_lease_to_be_lost() -> None:
    bench = Bench()
    bench.http.always["enqueue"] = error(404)
    assert await bench.send(FAMILY) == [Receipt.TROUBLE]
