"""What a lease need not look at again: long stretches of rows, in the order of an index, that a filter does not want.

A paused class in front of all others, or a crowd of delayed tasks, would otherwise be read anew by every lease.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from gorge_worker.queues.protocol import ClassFilter

WORTHWHILE = 1000
"""Rows; shorter stretches are not remembered."""
LASTS = 10.0
"""Seconds after which everything is looked at again: a task may come back to the place that it had before
(`bin/worker free`, an awakened one, a transaction that took its id early and was committed late).
"""
SHARE = 20
"""Looking again is put off to so many times the time that it took,"""
LONGEST = 60.0
"""and to so many seconds at most."""
MOST_RANGES = 50
"""Priorities that are told apart. With more, all up to a position is left out, tasks of a smaller number that come
meanwhile too: each range costs the database time."""
MAX_FILTERS = 100


class Seen(NamedTuple):
    """Rows that need no look: of new ones, in each priority those up to an id, or all up to a `position` of priority
    and id; of due ones, those up to a position of `leaseExpires` and id.
    """

    new: Mapping[int, int] = {}
    position: tuple[int, int] | None = None
    due: tuple[int, int] | None = None
    made: float = 0.0
    cost: float = 0.0

    @property
    def until(self) -> float:
        return self.made + min(max(LASTS, SHARE * self.cost), LONGEST)


class SeenByFilter:
    """Times are monotonic seconds. Safe to use from several threads: what is lost in a race is looked at again."""

    def __init__(self) -> None:
        self._seen: dict[ClassFilter, Seen] = {}

    def of(self, classes: ClassFilter) -> Seen:
        seen = self._seen.get(classes)
        return seen if seen and time.monotonic() < seen.until else Seen()

    def skip(
        self,
        classes: ClassFilter,
        *,
        new: Mapping[int, int] | None = None,
        due: tuple[int, int] | None = None,
        rows: int,
        seconds: float,
    ) -> None:
        """A stretch of so many rows has been looked at in vain, which took so many seconds."""
        before = self.of(classes)
        if rows < WORTHWHILE:
            return
        cost = before.cost + seconds
        if len(self._seen) >= MAX_FILTERS:
            self.clear()
        merged, position = {**before.new, **(new or {})}, before.position
        if merged and (position or len(merged) > MOST_RANGES):
            position, merged = max([*merged.items(), *([position] if position else [])]), {}
        self._seen[classes] = Seen(
            new=merged,
            position=position,
            due=due or before.due,
            made=before.made or time.monotonic(),
            cost=cost,
        )

    def clear(self) -> None:
        """Tasks have been put back here: everything is looked at again."""
        self._seen = {}
