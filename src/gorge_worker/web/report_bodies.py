"""The bodies of the calls that are made under a lease (queue-http contract, generation 1)."""

from __future__ import annotations

from typing import Literal

import msgspec

from gorge_worker.model import Lease, Outcome, Task
from gorge_worker.queues.store import MAX_OWNER_BYTES
from gorge_worker.web.errors import Refused
from gorge_worker.web.queue_bodies import CompleteBody, EnqueueBody, FailBody

MAX_FOLLOWUPS = 1000
MAX_RENEWAL = 604_800
"""Seconds; a week."""

_NAMES = {"lease_owner": "leaseOwner", "lease_expires": "leaseExpires", "task_id": "taskID", "retry_wait": "retryWait"}


class LeaseBody(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    """The three parts that identify a lease, all as leased."""

    task_id: int
    lease_owner: str
    lease_expires: int

    def lease(self) -> Lease:
        """Raises Refused when it can be no lease."""
        if self.task_id <= 0:
            raise Refused(400, "taskID must be a number above 0")
        if not self.lease_owner:
            raise Refused(400, "leaseOwner must say who holds the lease")
        task = Task(id=self.task_id, task_class="")
        # No store has a longer one, or one that is not text: such a lease holds nothing.
        owner = self.lease_owner if len(self.lease_owner) <= MAX_OWNER_BYTES else ""
        return Lease(task=task, owner=owner, expires=self.lease_expires, ends_at=0.0)


class FinalizeBody(LeaseBody, frozen=True, kw_only=True, rename=_NAMES):
    duration: int | None = None
    followups: list[EnqueueBody] | None = None

    def outcome(self) -> Outcome:
        """Raises Refused."""
        followups = self.followups or []
        if len(followups) > MAX_FOLLOWUPS:
            raise Refused(400, f"followups are {len(followups)} tasks, more than {MAX_FOLLOWUPS}")
        return Outcome.success(tuple(body.task() for body in followups))

    def microseconds(self) -> int:
        """How long the task took. Raises Refused."""
        return CompleteBody(duration=self.duration).microseconds()


class ResolveBody(LeaseBody, frozen=True, kw_only=True, rename=_NAMES):
    outcome: Literal["retry", "failure", "yield", "release"]
    retry_wait: int | None = None
    duration: int | None = None
    message: str | None = None

    def verdict(self) -> Outcome:
        """The outcome that is reported. Raises Refused."""
        if self.outcome == "retry":
            wait = FailBody(retry_wait=self.retry_wait).wait()
            return Outcome.temporary_failure(self.message or "", wait)
        if self.outcome == "failure":
            return Outcome.permanent_failure(self.message or "")
        if self.outcome == "yield":
            return Outcome.yielded(self.duration or 0)
        return Outcome.released("", max(self.duration or 0, 0) or None)


class RenewBody(LeaseBody, frozen=True, kw_only=True, rename=_NAMES):
    duration: int

    def seconds(self) -> int:
        """Raises Refused."""
        if not 1 <= self.duration <= MAX_RENEWAL:
            raise Refused(400, f"duration must be from 1 to {MAX_RENEWAL} seconds")
        return self.duration


class EventBody(msgspec.Struct, frozen=True, kw_only=True, rename={"event_id": "eventID"}):
    event_id: str
    task: EnqueueBody
