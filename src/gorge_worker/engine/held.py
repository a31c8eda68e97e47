"""The tasks that this worker holds a lease of, from the lease's answer to the accepted report."""

from __future__ import annotations

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
    """One held task. `lease` is replaced when the queue hands the same task out again (see HeldTasks.take)."""

    __slots__ = ("duration", "lease", "outcome", "phase", "tries")

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.phase = Phase.WAITING
        self.outcome: Outcome | None = None
        self.duration = 0  # microseconds
        self.tries = 0  # reports sent in vain

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

    def take(self, lease: Lease) -> Held | None:
        """Holds a newly leased task, or returns None when it is held already.

        A queue may show a running task again to its own lease owner (queue contract, fact 4), and hands a task out
        anew whose lease has run out while it was still being executed or reported here. Either way the present
        execution goes on, and its one outcome is reported under the newer lease.
        """
        held = self._held.get(lease.task.id)
        if held is None:
            self._held[lease.task.id] = held = Held(lease)
            return held
        if lease.expires >= held.lease.expires:
            held.lease = lease
        return None

    def let_go(self, held: Held) -> None:
        self._held.pop(held.lease.task.id, None)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))
