"""Leases of a generation 1 queue, which identify themselves in every call: by task, owner and expiry as leased.

A lease knows the generation that it was got from, so that what is said of one task is never a mix of two.
"""

from __future__ import annotations

import math

import msgspec

from gorge_worker.excerpt import excerpt
from gorge_worker.model import Lease, Verdict
from gorge_worker.queues.gorge.calls import MESSAGE, Body, followup_body
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.protocol import Report
from gorge_worker.queues.store import MIN_YIELD

LONGEST_WAIT = 604_800
"""Seconds; what the Go server takes at most as a wait. A longer one would be refused as a whole."""


class FencedLease(Lease, frozen=True, kw_only=True):
    """A lease under which only its holder can say anything."""

    generation: Generation

    @property
    def fence(self) -> Fence:
        return Fence(self.task.id, self.owner, self.expires, self.generation.release)


class Fence(msgspec.Struct, frozen=True):
    """A lease's three parts, and whether its queue knows the outcome `release`."""

    task_id: int
    owner: str
    expires: int
    release: bool

    def body(self, **fields: object) -> Body:
        return {"taskID": self.task_id, "leaseOwner": self.owner, "leaseExpires": self.expires, **fields}


def fenced_call(fence: Fence, report: Report) -> tuple[str, Body]:
    """The call that reports an outcome, with its follow-ups."""
    outcome = report.outcome
    match outcome.verdict:
        case Verdict.SUCCESS:
            followups = [followup_body(one, report.lease.task) for one in outcome.followups]
            return "finalize", fence.body(duration=report.duration, followups=followups)
        case Verdict.PERMANENT_FAILURE | Verdict.TEMPORARY_FAILURE:
            is_permanent = outcome.verdict is Verdict.PERMANENT_FAILURE
            body = fence.body(outcome="failure" if is_permanent else "retry")
            if not is_permanent and outcome.wait is not None:
                body["retryWait"] = min(max(outcome.wait, 0), LONGEST_WAIT)
            if message := excerpt(outcome.reason, MESSAGE):
                body["message"] = message
            return "resolve", body
        case Verdict.YIELD:
            return "resolve", _yield(fence, outcome.wait or 0)
        case Verdict.RELEASE:
            return fenced_give_back(fence, outcome.wait or 0)


def fenced_give_back(fence: Fence, seconds: float) -> tuple[str, Body]:
    """The call that puts a task back without having been executed, at once or for so many seconds."""
    if seconds <= 0 and fence.release:
        return "resolve", fence.body(outcome="release")
    return "resolve", _yield(fence, seconds)


def _yield(fence: Fence, seconds: float) -> Body:
    return fence.body(outcome="yield", duration=min(max(math.ceil(seconds), MIN_YIELD), LONGEST_WAIT))
