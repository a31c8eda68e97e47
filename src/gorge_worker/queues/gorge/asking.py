"""Under which owner a lease call goes out, and what becomes of the owner after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gorge_worker.queues.gorge.lanes import Lane, Lanes
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.gorge.recovery import Recovery


class Asking(Protocol):
    """One lease call. Exactly one of the methods is called at its end. Times are CLOCK_BOOTTIME in seconds."""

    @property
    def owner(self) -> str: ...

    def answered(self, shown: Mapping[int, float], *, full: bool, now: float) -> None:
        """Tasks with the ends of their leases; `full` when there were as many as were asked for."""
        ...

    def nothing_leased(self) -> None:
        """Certainly not."""
        ...

    def too_large(self) -> None:
        """There is an answer, too large to read; less is going to be asked for."""
        ...

    def lost(self, away: float = 0.0) -> None:
        """There may be leases that no answer will show: to be given back for `away` seconds."""
        ...


class FreshOwner:
    """An owner for one call: all that an honest queue needs (queue contract, fine print)."""

    def __init__(self, owner: str, generation: Generation, recovery: Recovery) -> None:
        self.owner = owner
        self._generation = generation
        self._recovery = recovery

    def answered(self, shown: Mapping[int, float], *, full: bool, now: float) -> None:
        """All of it is known."""

    def nothing_leased(self) -> None:
        """There is nothing to look for."""

    def too_large(self) -> None:
        self.lost()

    def lost(self, away: float = 0.0) -> None:
        self._recovery.remember(self.owner, away, self._generation)


class InLane:
    """A lane's stable owner, for a queue that may lease more than it shows."""

    def __init__(self, lane: Lane, lanes: Lanes, recovery: Recovery) -> None:
        self._lane = lane
        self._lanes = lanes
        self._recovery = recovery

    @property
    def owner(self) -> str:
        return self._lane.owner

    def answered(self, shown: Mapping[int, float], *, full: bool, now: float) -> None:
        self._lanes.answered(self._lane, shown, full=full, now=now)
        if self._lane.hides:
            self._recovery.watch_lanes()

    def nothing_leased(self) -> None:
        self._lanes.unasked(self._lane)

    def too_large(self) -> None:
        self._lanes.unread(self._lane)

    def lost(self, away: float = 0.0) -> None:
        self._lanes.abandon(self._lane)
        self._recovery.remember(self.owner, away)
