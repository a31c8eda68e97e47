from __future__ import annotations

import pytest

from gorge_worker.backends.execution_result import outcome_of_result
from gorge_worker.model import NewTask, Outcome, Verdict


@pytest.mark.parametrize("result", [None, "ok", 5, True, [], {}, {"ok": True}, {"result": 5}, {"result": None}])
def test_a_result_without_a_classification_is_a_success(result: object) -> None:
    assert outcome_of_result(result) == Outcome.success()


def test_a_success_brings_its_follow_ups_and_duration() -> None:
    child = {
        "taskClass": "ChildWorker",
        "data": '{"key":7714163963910349351}',
        "priority": 3000,
        "objectPHID": "PHID-TASK-a",
        "containerPHID": None,
        "delayUntil": 1_785_585_600,
        "unknown": 1,
    }
    assert outcome_of_result({"result": "success", "duration": 2065, "followups": [child, {"taskClass": "B"}]}) == (
        Outcome.success(
            (
                NewTask(
                    task_class="ChildWorker",
                    data='{"key":7714163963910349351}',
                    priority=3000,
                    object_phid="PHID-TASK-a",
                    delay_until=1_785_585_600,
                ),
                NewTask(task_class="B"),
            ),
            2065,
        )
    )


@pytest.mark.parametrize("followups", [None, [], {}])
def test_no_follow_ups_may_be_written_in_any_way(followups: object) -> None:
    assert outcome_of_result({"result": "success", "followups": followups}) == Outcome.success()


@pytest.mark.parametrize(
    ("followups", "named"),
    [
        ("x", "array"),
        ({"a": 1}, "array"),
        ([5], "$[0]"),
        ([{"taskClass": "A"}, {"data": "1"}], "taskClass"),
        ([{"taskClass": "A"}, {"taskClass": ""}], "$[1].taskClass"),
        ([{"taskClass": 5}], "$[0].taskClass"),
        ([{"taskClass": "A", "data": {"a": 1}}], "$[0].data"),
        ([{"taskClass": "A", "priority": "high"}], "$[0].priority"),
        ([{"taskClass": "A", "data": "\ud800"}], "surrogates"),
    ],
)
def test_work_that_is_done_is_not_executed_again_for_a_bad_follow_up(followups: object, named: str) -> None:
    outcome = outcome_of_result({"result": "success", "followups": followups})
    assert outcome.verdict is Verdict.PERMANENT_FAILURE
    assert outcome.reason.startswith("executed, but")
    assert named in outcome.reason


@pytest.mark.parametrize("duration", [None, -1, 1.5, True, "5", 2**63])
def test_a_duration_that_is_no_usable_number_counts_as_absent(duration: object) -> None:
    assert outcome_of_result({"result": "success", "duration": duration}).duration is None


@pytest.mark.parametrize(("retry", "wait"), [(30, 30), (0, 0), (1.5, 2), (-3, 0), ("9", 0), (True, 0), (None, 0)])
def test_a_yield_says_for_how_long(retry: object, wait: int) -> None:
    assert outcome_of_result({"result": "yield", "retry": retry}) == Outcome.yielded(wait)


@pytest.mark.parametrize(("retry", "wait"), [(77, 77), (0, 0), (-3, None), ("9", None), (2**31, None), ([], None)])
def test_a_failure_has_the_class_s_own_wait_or_the_queue_s(retry: object, wait: int | None) -> None:
    result = {"result": "failure", "failureReason": "busy", "retry": retry}
    assert outcome_of_result(result) == Outcome.temporary_failure("busy", wait)


def test_a_permanent_failure_says_why() -> None:
    result = {"result": "permanent-failure", "failureReason": "gone\nfor good"}
    assert outcome_of_result(result) == Outcome.permanent_failure("gone for good")


@pytest.mark.parametrize("reason", [None, "", "\n"])
def test_a_failure_without_a_reason_says_so(reason: object) -> None:
    assert outcome_of_result({"result": "failure", "failureReason": reason}).reason == "PHP gave no reason"


@pytest.mark.parametrize("word", ["bananas", "release", "", "Success"])
def test_an_unknown_word_is_a_temporary_failure_that_names_it(word: str) -> None:
    outcome = outcome_of_result({"result": word})
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert repr(word) in outcome.reason
