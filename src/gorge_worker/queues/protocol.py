"""What the engine asks of a queue. Batch-first: a database commits a batch at once, HTTP fans it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Protocol, Self

import msgspec

from gorge_worker.model import Lease, Outcome

LONG_POLL = 25.0
"""Seconds for which a queue with long poll is asked to hold an empty answer: below the 30 that the contract allows, and
below the usual idle time-outs of proxies between."""


class ClassFilter(msgspec.Struct, frozen=True):
    """Which task classes are wanted: those in `only` (empty: any), and of them none that is in `without`."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def wants(self, task_class: str) -> bool:
        return (not self.only or task_class in self.only) and task_class not in self.without

    @classmethod
    def union(cls, filters: Iterable[Self]) -> ClassFilter:
        """What at least one of the filters wants."""
        named: set[str] = set()
        unwanted: set[str] | None = None
        for one in filters:
            if one.only:
                named.update(filter(one.wants, one.only))
            else:
                unwanted = set(one.without) if unwanted is None else unwanted & set(one.without)
        if unwanted is None:
            return cls(only=tuple(sorted(named)))
        return cls(without=tuple(sorted(unwanted - named)))


ANY = ClassFilter()


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue can do, as far as it is known now: it may change when a queue comes back after an outage."""

    long_poll: float = 0.0
    """The longest `LeaseRequest.wait`, in seconds, for which the queue holds a call until there is a task; 0 where it
    can't.
    """
    class_filter: bool = False
    """`LeaseRequest.classes.only` is applied before anything is leased."""
    class_exclusion: bool = False
    """Likewise `LeaseRequest.classes.without`."""
    renews: bool = False
    """Leases can be checked and renewed, so that a lease may be shorter than the execution of its task."""
    report_batch: int = 1
    """The most reports that one `report` call should carry."""
    report_concurrency: int = 64
    """The most `report` calls that may be under way."""


class LeaseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`limit` tasks at most, of the wanted classes, waiting `wait` seconds for the first one."""

    limit: int
    classes: ClassFilter = ANY
    wait: float = 0.0


class Unusable(msgspec.Struct, frozen=True):
    """A task that was leased but can't be executed as it stands (wrong types, a lone surrogate): fails for good."""

    lease: Lease
    reason: str


class Leased(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one lease call.

    `leases` may hold tasks that this worker holds already (queue contract, fact 4): the engine sorts that out.
    """

    leases: list[Lease] = []
    unusable: list[Unusable] = []


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome to be reported under its lease. `duration` is in microseconds."""

    lease: Lease
    outcome: Outcome
    duration: int


class Receipt(Enum):
    """What a queue made of a report."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """Final: the queue will never take this report (400, 413, 422)."""
    LEASE_LOST = "lease lost"
    """Final: the task is no longer this worker's (404, 409)."""
    TROUBLE = "trouble"
    """No usable answer: to be sent again."""


class ReportResult(msgspec.Struct, frozen=True):
    """A receipt and why; `retry_after` in seconds where the queue named one."""

    receipt: Receipt
    reason: str = ""
    retry_after: float | None = None


class Renewal(msgspec.Struct, frozen=True):
    """What became of renewing one lease.

    ACCEPTED: `lease` is the lease as it stands from now on. LEASE_LOST: the task is no longer this worker's. TROUBLE:
    no usable answer; the lease stands as it did, or as it would if it had been accepted.
    """

    receipt: Receipt
    lease: Lease | None = None
    reason: str = ""


class TaskQueue(Protocol):
    """A queue as the worker sees it. One object serves one worker."""

    @property
    def features(self) -> Features: ...

    async def lease(self, request: LeaseRequest) -> Leased:
        """Leases tasks. Raises QueueTrouble when there is no usable answer; what such a call may have leased
        all the same is remembered, and given back by the adapter itself when the queue answers again.
        """
        ...

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        """Reports outcomes, one result for each in order. Never raises for trouble of the queue.

        Repeating a report is safe. A success that had been accepted the first time counts as accepted; what has put the
        task back may count as a lost lease then, as nothing tells the two apart.
        """
        ...

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        """Checks leases and moves their ends forward (`Features.renews`), one result for each in order. Never raises
        for trouble of the queue.

        After TROUBLE it is called again with the same lease, before anything is reported under it: the adapter finds
        out how the lease stands.
        """
        ...

    async def rest(self) -> None:
        """The worker hibernates: idle connections may go."""
        ...

    async def give_back(self) -> None:
        """At shutdown, after the last lease call: gives back what may be leased under this worker's names without
        its knowing (a lost answer, a queue that leases more than it shows). Raises QueueTrouble.
        """
        ...

    async def close(self) -> None: ...
