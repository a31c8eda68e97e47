from __future__ import annotations

import pytest

from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.gorge.calls import followup_bodies, outcome_call
from gorge_worker.queues.protocol import Report

LEASE = Lease(task=Task(id=7, task_class="Some", priority=3500), owner="me", expires=0, ends_at=0)


def report(outcome: Outcome) -> Report:
    return Report(lease=LEASE, outcome=outcome, duration=1234)


@pytest.mark.parametrize(
    ("outcome", "route", "body"),
    [
        (Outcome.success(), "complete", {"duration": 1234}),
        (Outcome.permanent_failure("gone"), "fail", {"permanent": True, "message": "gone"}),
        (Outcome.temporary_failure("busy"), "fail", {"permanent": False, "message": "busy"}),
        (Outcome.temporary_failure("", wait=77), "fail", {"permanent": False, "retryWait": 77}),
        (Outcome.temporary_failure("", wait=0), "fail", {"permanent": False, "retryWait": 0}),
        (Outcome.yielded(60), "yield", {"duration": 60}),
        (Outcome.yielded(1), "yield", {"duration": 5}),
        (Outcome.released("not mine"), "yield", {"duration": 5}),
        (Outcome.released("not mine", wait=60), "yield", {"duration": 60}),
    ],
)
def test_outcomes_in_the_words_of_generation_0(outcome: Outcome, route: str, body: dict[str, object]) -> None:
    assert outcome_call(report(outcome)) == (route, {"taskID": 7, **body})


def test_a_message_is_one_bounded_line() -> None:
    _, body = outcome_call(report(Outcome.permanent_failure("a\n\x00b" + "x" * 9000)))
    assert body["message"].startswith("a bx")
    assert len(body["message"]) == 500


def test_follow_ups_go_in_order_and_inherit_their_parents_priority() -> None:
    outcome = Outcome.success(
        (
            NewTask(task_class="A", data="1"),
            NewTask(task_class="B", priority=1000, object_phid="PHID-X", container_phid="PHID-Y", delay_until=99),
        )
    )
    second = {"taskClass": "B", "data": "", "priority": 1000}
    second |= {"objectPHID": "PHID-X", "containerPHID": "PHID-Y", "delayUntil": 99}
    assert list(followup_bodies(report(outcome), 0)) == [{"taskClass": "A", "data": "1", "priority": 3500}, second]
    assert list(followup_bodies(report(outcome), 1)) == [second]
