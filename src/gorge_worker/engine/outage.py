"""Telling an outage of the queue from one bad report: a rule without I/O."""

from __future__ import annotations

import random

import structlog

THRESHOLD = 3
"""So many reports in a row without a usable answer are an outage."""
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 3.0
GROWTH = 2.0
JITTER = 0.2

_log = structlog.get_logger()


class Outage:
    """Whether the queue takes reports at all. `now` is any monotonic time in seconds, the same for all calls."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._troubles = 0
        self._pause = 0.0
        self._next_probe = 0.0

    @property
    def _is_on(self) -> bool:
        return self._troubles >= THRESHOLD

    def calls_allowed(self, now: float, most: int) -> int:
        """How many report calls may be under way: during an outage one at a time, after a pause."""
        if not self._is_on:
            return most
        return 1 if now >= self._next_probe else 0

    def wait(self, now: float) -> float:
        """Seconds until a call is allowed."""
        return max(0.0, self._next_probe - now) if self._is_on else 0.0

    def trouble(self, now: float, reason: str, retry_after: float | None = None) -> None:
        """A report got no usable answer."""
        self._troubles += 1
        if self._troubles == THRESHOLD:
            _log.warning("the queue takes no reports, they are kept and tried again", reason=reason)
        if self._is_on and now >= self._next_probe:
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._pause * GROWTH))
            self._next_probe = now + max(self._pause * (1 - self._rng.uniform(0, JITTER)), retry_after or 0.0)

    def over(self) -> bool:
        """A report got a usable answer; True when that ends an outage."""
        ended = self._is_on
        if ended:
            _log.info("the queue takes reports again", failed_calls=self._troubles)
        self._troubles, self._pause, self._next_probe = 0, 0.0, 0.0
        return ended
