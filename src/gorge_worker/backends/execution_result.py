"""What PHP says that a task came to, in the words of `worker.execute` (contract: conduit.md, the table)."""

from __future__ import annotations

from typing import Any

import msgspec

from gorge_worker.excerpt import excerpt
from gorge_worker.model import NewTask, Outcome, Verdict
from gorge_worker.whole_seconds import whole_seconds

MAX_DURATION = 2**63 - 1
"""Microseconds: what the queue's column holds."""
MAX_REASON = 500
"""Characters."""


def outcome_of_result(result: Any, *, hide: str = "") -> Outcome:
    """The outcome that a decoded result stands for; `hide` is a secret that must not get into its reason.

    A result without a classification is a success: that is all that the first backends say. A `retry` or a `duration`
    that is no usable number counts as absent. A success whose follow-up tasks can't be used is a permanent failure that
    names what is wrong: the work has been done, and executing it again would end in the same place.
    """
    if not isinstance(result, dict) or not isinstance(word := result.get("result"), str):
        return Outcome.success()
    reason = excerpt(str(result.get("failureReason") or ""), MAX_REASON, hide=hide)
    wait = whole_seconds(result.get("retry"))
    match word:
        case Verdict.SUCCESS:
            return _success(result)
        case Verdict.YIELD:
            return Outcome.yielded(wait or 0, reason)
        case Verdict.PERMANENT_FAILURE:
            return Outcome.permanent_failure(reason or "PHP gave no reason")
        case Verdict.TEMPORARY_FAILURE:
            return Outcome.temporary_failure(reason or "PHP gave no reason", wait)
        case _:
            return Outcome.temporary_failure(f"PHP answered an unknown result: {excerpt(word, 60, hide=hide)!r}", wait)


def _success(result: dict[str, Any]) -> Outcome:
    try:
        followups = _followups(result.get("followups"))
    except ValueError as error:
        return Outcome.permanent_failure(f"executed, but its follow-up tasks can't be used: {error}")
    return Outcome.success(followups, _microseconds(result.get("duration")))


def _followups(value: Any) -> tuple[NewTask, ...]:
    """Raises ValueError (of which msgspec's errors and UnicodeEncodeError are kinds) naming the follow-up."""
    tasks = msgspec.convert(value or [], tuple[NewTask, ...])
    for number, task in enumerate(tasks):
        if not task.task_class:
            raise ValueError(f"no task class - at `$[{number}].taskClass`")
        msgspec.json.encode(task)
    return tasks


def _microseconds(value: Any) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_DURATION
    return value if usable else None
