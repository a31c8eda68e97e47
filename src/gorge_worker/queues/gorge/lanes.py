"""Lease lanes: how to lease from a queue that may lease more than it shows. A rule without I/O.

The Go server of generation 0 leases up to twice the limit and shows no more than the limit of what is live under the
owner (queue contract, fact 3); an owner that asks again is shown what it holds already (fact 4). Hence a lane: an
owner of its own, which asks again only when all its tasks are finished, and is then shown what was hidden. An answer
below the limit shows all there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gorge_worker.queues.owners import OwnerNames

CYCLES = 10
"""A lane that asks again and again may still hide the same tasks, as each call leases new ones: after so many times
the usual patience it is looked through as well."""


class Lane:
    """One stable lease owner. Times are CLOCK_BOOTTIME in seconds."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.held: dict[int, float] = {}
        """Unfinished tasks -> the end of their leases."""
        self.hides = False
        """Whether tasks may be leased under the owner that it was not shown."""
        self.unread = False
        """Whether it hides the tasks of an answer that was too large to read."""
        self.in_use = False
        """Whether it is just asking, or being looked through."""
        self.hides_since = 0.0
        self.answered_at = 0.0

    def is_free(self, now: float) -> bool:
        return not self.in_use and all(ends_at <= now for ends_at in self.held.values())

    def is_overdue(self, now: float, patience: float) -> bool:
        """Whether its hidden tasks have waited long enough for being shown: see Lanes.overdue."""
        if not self.hides or self.in_use:
            return False
        return self.unread or now - self.answered_at >= patience or now - self.hides_since >= patience * CYCLES


class Lanes:
    """All lanes of a worker: as many as it needs, and one free one beyond. Times are CLOCK_BOOTTIME in seconds."""

    def __init__(self, owners: OwnerNames) -> None:
        self._owners = owners
        self._lanes: dict[str, Lane] = {}

    def take(self, now: float) -> Lane:
        """The lane to ask with: one that may hide something if any is free, else a clean one."""
        free = [lane for lane in self._lanes.values() if lane.is_free(now)]
        hiding = next((lane for lane in free if lane.hides), None)
        clean = [lane for lane in free if not lane.hides]
        for spare in clean[1:]:
            del self._lanes[spare.owner]
        lane = hiding or (clean[0] if clean else self._new())
        lane.held.clear()
        lane.in_use = True
        return lane

    def _new(self) -> Lane:
        lane = Lane(self._owners.next())
        self._lanes[lane.owner] = lane
        return lane

    def answered(self, lane: Lane, shown: Mapping[int, float], *, full: bool, now: float) -> None:
        """The lane has got an answer: the tasks with the ends of their leases, and whether it was up to the limit."""
        lane.in_use = False
        lane.held.update(shown)
        lane.answered_at = now
        if full and not lane.hides:
            lane.hides_since = now
        lane.hides = full or lane.unread

    def unasked(self, lane: Lane) -> None:
        """The queue has certainly leased nothing in this call."""
        lane.in_use = False

    def unread(self, lane: Lane) -> None:
        """The answer was too large: the lane may ask for less, and must be looked through."""
        lane.in_use = False
        lane.hides = lane.unread = True

    def abandon(self, lane: Lane) -> None:
        """The lane's owner is not used any more: who abandons it looks for what it holds."""
        self._lanes.pop(lane.owner, None)

    def retire(self, now: float) -> list[str]:
        """Lets all free lanes go, as the queue needs none; returns the owners that may hide something."""
        free = [lane for lane in self._lanes.values() if lane.is_free(now)]
        for lane in free:
            self.abandon(lane)
        return [lane.owner for lane in free if lane.hides]

    def hold(self, owner: str, task_id: int, ends_at: float) -> None:
        """A hidden task was found: the lane is not free until `finished` says that it has been given back."""
        if lane := self._lanes.get(owner):
            lane.held[task_id] = ends_at

    def finished(self, task_id: int) -> None:
        """The task is no longer leased under any lane."""
        for lane in self._lanes.values():
            lane.held.pop(task_id, None)

    def holds_unread(self) -> bool:
        return any(lane.unread for lane in self._lanes.values())

    def hiding(self) -> list[Lane]:
        """The lanes that may hide something and can be looked through now."""
        return [lane for lane in self._lanes.values() if lane.hides and not lane.in_use]

    def overdue(self, now: float, patience: float) -> list[Lane]:
        """The lanes that should be looked through: not asked again for `patience` seconds (a slow task keeps them
        busy, or nothing is leased at all), hiding for much longer, or with an answer that could not be read.
        """
        return [lane for lane in self._lanes.values() if lane.is_overdue(now, patience)]

    def look_through(self, lanes: Iterable[Lane]) -> None:
        """A look into what they hold begins: none of them asks until `looked_through`."""
        for lane in lanes:
            lane.in_use = True

    def looked_through(self, lanes: Iterable[Lane], *, found_all: bool) -> None:
        """The look has ended; with `found_all` nothing is hidden any more, otherwise looking is of no use."""
        for lane in lanes:
            lane.in_use = lane.unread = False
            lane.hides = not found_all

    def look_failed(self, lanes: Iterable[Lane]) -> None:
        """The look could not be taken and is to be repeated."""
        for lane in lanes:
            lane.in_use = False
