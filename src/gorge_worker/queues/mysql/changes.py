"""Changes of single tasks: what executing one came to, a renewed lease, a cancel; many in one transaction.

Each change has its own fate. It is guarded by the lease that it is made under, unless it is one of those that hit
whoever holds the task. The rules are PhabricatorWorkerActiveTask's.
"""

from __future__ import annotations

from enum import Enum, auto

import msgspec

from gorge_worker.model import ArchiveResult, NewTask, Outcome, Task, Verdict
from gorge_worker.queues.store import MIN_YIELD, StoreError


class Action(Enum):
    SUCCEED = auto()
    FAIL = auto()
    CANCEL = auto()
    RETRY = auto()
    YIELD = auto()
    RELEASE = auto()
    RENEW = auto()


RESULTS = {
    Action.SUCCEED: ArchiveResult.SUCCESS,
    Action.FAIL: ArchiveResult.FAILURE,
    Action.CANCEL: ArchiveResult.CANCELLED,
}
"""The actions that end a task, and what the archive says then."""


class Holder(msgspec.Struct, frozen=True):
    """A lease, by its owner and its expiry (epoch seconds)."""

    owner: str
    expires: int


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """`holder` is the lease that it is made under, None for whoever holds the task; `even_late`: also when that has run
    out, as long as nobody else has taken the task. `seconds` is how long a task stays away or a lease lasts from now;
    `duration` how long the execution took, in microseconds.
    """

    task_id: int
    action: Action
    holder: Holder | None = None
    even_late: bool = False
    seconds: int = 0
    duration: int = 0
    followups: tuple[NewTask, ...] = ()


class Fate(msgspec.Struct, frozen=True):
    """What became of a change: the task as it is after it, without data; None when nothing was changed, and why.

    `known`: there is no such active task, but this very change was made before, under the same lease. `trouble`: it
    could not be written, unlike others that were to be made with it.
    """

    task: Task | None
    reason: str = ""
    known: bool = False
    missing: bool = False
    trouble: StoreError | None = None


def release(task: Task) -> Change:
    """Takes back a lease that is nobody's; `task` is as leased."""
    holder = Holder(task.lease_owner or "", task.lease_expires or 0)
    return Change(task_id=task.id, action=Action.RELEASE, holder=holder, even_late=True)


def of_outcome(task_id: int, holder: Holder, outcome: Outcome, duration: int, retry_wait: int) -> Change:
    """The change that an outcome makes. `retry_wait` (seconds) is for failures that name no wait of their own."""
    match outcome.verdict:
        case Verdict.SUCCESS:
            return Change(
                task_id=task_id,
                action=Action.SUCCEED,
                holder=holder,
                duration=duration,
                followups=outcome.followups,
            )
        case Verdict.PERMANENT_FAILURE:
            return Change(task_id=task_id, action=Action.FAIL, holder=holder)
        case Verdict.TEMPORARY_FAILURE:
            wait = retry_wait if outcome.wait is None else max(outcome.wait, 0)
            return Change(task_id=task_id, action=Action.RETRY, holder=holder, seconds=wait)
        case Verdict.RELEASE if not outcome.wait:
            return Change(task_id=task_id, action=Action.RELEASE, holder=holder)
        case Verdict.YIELD | Verdict.RELEASE:
            wait = max(outcome.wait or 0, MIN_YIELD)
            return Change(task_id=task_id, action=Action.YIELD, holder=holder, seconds=wait)
