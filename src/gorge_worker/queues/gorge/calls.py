"""Outcomes in the words of generation 0: which route, and which body."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from gorge_worker.excerpt import excerpt
from gorge_worker.model import NewTask, Task, Verdict
from gorge_worker.queues.protocol import Report
from gorge_worker.queues.store import MIN_YIELD

MESSAGE = 500
"""Characters of a failure's reason that the queue is told."""

Body = dict[str, Any]


def outcome_call(report: Report) -> tuple[str, Body]:
    """The call that reports an outcome; its follow-ups go first (`followup_bodies`)."""
    task_id, outcome = report.lease.task.id, report.outcome
    match outcome.verdict:
        case Verdict.SUCCESS:
            return "complete", {"taskID": task_id, "duration": report.duration}
        case Verdict.PERMANENT_FAILURE | Verdict.TEMPORARY_FAILURE:
            is_permanent = outcome.verdict is Verdict.PERMANENT_FAILURE
            body: Body = {"taskID": task_id, "permanent": is_permanent}
            if not is_permanent and outcome.wait is not None:
                body["retryWait"] = max(outcome.wait, 0)
            if message := excerpt(outcome.reason, MESSAGE):
                body["message"] = message
            return "fail", body
        case Verdict.YIELD | Verdict.RELEASE:  # generation 0 knows no release; a short yield comes closest
            return yield_call(task_id, outcome.wait or 0)


def yield_call(task_id: int, seconds: float) -> tuple[str, Body]:
    """The call that puts a task back for a while without counting a failure."""
    return "yield", {"taskID": task_id, "duration": max(math.ceil(seconds), MIN_YIELD)}


def followup_bodies(report: Report, done: int) -> Iterator[Body]:
    """The enqueue bodies of an outcome's follow-ups, without the first `done`."""
    for followup in report.outcome.followups[done:]:
        yield followup_body(followup, report.lease.task)


def followup_body(followup: NewTask, parent: Task) -> Body:
    """The enqueue body of a follow-up, with its parent's priority where it has none."""
    fields = msgspec.to_builtins(followup) | {
        "priority": parent.priority if followup.priority is None else followup.priority
    }
    return {name: value for name, value in fields.items() if value is not None}
