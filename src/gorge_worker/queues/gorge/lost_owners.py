"""Owner names whose lease call was not answered in full. A rule without I/O."""

from __future__ import annotations

import msgspec
import structlog

from gorge_worker.queues.gorge.meta import Generation

LOOKS = (1.0, 60.0)
"""Seconds after the call: when its tasks are looked for. The second time is for a queue that was still at work on
it, longer than the worker had waited for the answer."""
MOST = 1000
"""Names remembered. An outage makes few, as no lease is asked for until the queue answers."""

_log = structlog.get_logger()


class _Lost(msgspec.Struct):
    at: float
    away: float
    generation: Generation | None
    looks: int = 0


class LostOwners:
    """Times are CLOCK_BOOTTIME in seconds."""

    def __init__(self) -> None:
        self._lost: dict[str, _Lost] = {}

    def add(self, owner: str, now: float, away: float, generation: Generation | None = None) -> None:
        """What is found under the owner goes back for `away` seconds, in the words of the generation."""
        self._lost[owner] = _Lost(now, away, generation)
        if len(self._lost) > MOST:
            oldest = next(iter(self._lost))
            del self._lost[oldest]
            _log.warning("too many lost lease calls, the leases of one have to run out", lease_owner=oldest)

    def due(self, now: float) -> list[str]:
        """Those that are to be looked for now."""
        return [owner for owner, lost in self._lost.items() if now - lost.at >= LOOKS[lost.looks]]

    def next_look(self) -> float | None:
        """When the first of them is to be looked for."""
        return min((lost.at + LOOKS[lost.looks] for lost in self._lost.values()), default=None)

    def away(self, owner: str) -> float:
        return self._lost[owner].away if owner in self._lost else 0.0

    def generation(self, owner: str) -> Generation | None:
        return self._lost[owner].generation if owner in self._lost else None

    def all(self) -> list[str]:
        return list(self._lost)

    def unsettled(self, now: float, settling: float) -> float:
        """Seconds until the last of them is `settling` seconds old."""
        return max((lost.at + settling - now for lost in self._lost.values()), default=0.0)

    def looked_for(self, owners: list[str], began: float, *, for_good: bool) -> None:
        """They have been looked for since `began`; the last time, or when it was `for_good`, they are forgotten."""
        for owner in owners:
            if lost := self._lost.get(owner):
                lost.looks += 1
                if for_good or began - lost.at >= LOOKS[-1]:
                    del self._lost[owner]

    def clear(self) -> None:
        self._lost.clear()
