"""The tasks that this worker holds a lease of, from the lease's answer to the accepted report."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import Enum, auto

from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.protocol import Report


class Phase(Enum):
    WAITING = auto()
    """Leased; no slot has been free for it yet."""
    RUNNING = auto()
    REPORTING = auto()
    """Its outcome is known, and the queue has not taken it yet."""


class Held:
    """One held task.

    `lease` is replaced when it is renewed, and when the queue hands the same task out again (see HeldTasks.take).
    `checked_at` is the CLOCK_BOOTTIME, in seconds, at which it was last known to hold. `renewing` is done when the
    renewal under way has been applied; one that got no answer leaves the lease in doubt. `grants` counts how often the
    task was handed out; `lost` is the number of a grant that was lost, and `loss` why.
    """

    __slots__ = (
        "checked_at",
        "duration",
        "grants",
        "in_doubt",
        "lease",
        "loss",
        "lost",
        "outcome",
        "phase",
        "renewing",
        "tries",
    )

    def __init__(self, lease: Lease, now: float) -> None:
        self.lease = lease
        self.checked_at = now
        self.renewing: asyncio.Future[None] | None = None
        self.in_doubt = False
        self.grants = 1
        self.lost = 0
        self.loss = ""
        self.phase = Phase.WAITING
        self.outcome: Outcome | None = None
        self.duration = 0  # microseconds
        self.tries = 0  # reports sent in vain

    @property
    def is_lost(self) -> bool:
        """Whether the lease is lost, and the task has not been handed out to this worker again since."""
        return self.lost == self.grants

    @property
    def is_settled(self) -> bool:
        """Whether it is known how the lease stands, so that an outcome can be reported under it."""
        return self.renewing is None and not self.in_doubt

    @property
    def length(self) -> float:
        """Seconds from when the lease was last known to hold to its end."""
        return self.lease.ends_at - self.checked_at

    def lose(self, reason: str) -> None:
        self.lost, self.loss = self.grants, reason

    def renewed(self, lease: Lease, now: float) -> None:
        """The lease stands like this now."""
        self.lease, self.checked_at, self.in_doubt = lease, now, False

    @property
    def report(self) -> Report:
        """The report to send now, under the lease as it stands now."""
        if self.outcome is None:
            raise ValueError(f"task {self.lease.task.id} has no outcome yet")
        return Report(lease=self.lease, outcome=self.outcome, duration=self.duration)


class HeldTasks:
    """By task id: what makes sure that no task is executed twice at once by this worker."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}
        self.some = asyncio.Event()
        """Set while there are any."""

    def take(self, lease: Lease, now: float) -> Held | None:
        """Holds a newly leased task, or returns None when it is held already.

        A queue may show a running task again to its own lease owner (queue contract, fact 4), and hands a task out
        anew whose lease has run out while it was still being executed or reported here. Either way the present
        execution goes on, and its one outcome is reported under the newer lease. `now` is CLOCK_BOOTTIME in seconds.
        """
        held = self._held.get(lease.task.id)
        if held is None:
            self._held[lease.task.id] = held = Held(lease, now)
            self.some.set()
            return held
        if lease.expires >= held.lease.expires:
            held.renewed(lease, now)
            held.grants += 1
        return None

    def let_go(self, held: Held) -> None:
        if held in self:
            del self._held[held.lease.task.id]
        if not self._held:
            self.some.clear()

    def __contains__(self, held: Held) -> bool:
        return self._held.get(held.lease.task.id) is held

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))
