from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from gorge_worker.engine.outcome_log import MOST_NAMED, UnsupportedNotice, log_outcome
from gorge_worker.model import Outcome, Task


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        (Outcome.success(), "info"),
        (Outcome.yielded(9), "info"),
        (Outcome.released("not now"), "debug"),
        (Outcome.temporary_failure("x", 9), "warning"),
        (Outcome.permanent_failure("x"), "error"),
    ],
)
def test_each_outcome_is_one_line_of_its_own_level(outcome: Outcome, level: str) -> None:
    with capture_logs() as logs:
        log_outcome(Task(id=5, task_class="A", failure_count=2), outcome, 0.25)
    [line] = logs
    assert line["log_level"] == level
    assert (line["task"], line["task_class"], line["outcome"]) == (5, "A", str(outcome.verdict))
    assert (line["seconds"], line["attempt"]) == (0.25, 3)
    assert line.get("reason", "") == outcome.reason
    assert line.get("wait") == outcome.wait


def test_each_unsupported_class_is_named_once_and_not_without_end() -> None:
    notice = UnsupportedNotice(60)
    with capture_logs() as logs:
        for number in range(MOST_NAMED + 50):
            for _ in range(2):
                notice.tell(Task(id=1, task_class=f"Class{number}"))
    assert len(logs) == MOST_NAMED
