"""How long to wait before the queue is asked again: a rule without I/O."""

from __future__ import annotations

import random

from gorge_worker.engine.options import EngineOptions

FIRST_PAUSE = 0.02
GROWTH = 1.5
"""Each pause on an empty queue is half as long again as the last: at any moment it is then about half of the time
that the queue has been empty, so that a task which follows others soon is found soon."""
HIBERNATION_PAUSE = 6.0
"""Seconds between polls in hibernation."""
TROUBLE_FIRST_PAUSE = 0.1
TROUBLE_GROWTH = 2.0
TROUBLE_LONGEST_PAUSE = 2.0
JITTER = 0.1
"""Pauses are shortened at random by up to this share, so that many workers do not ask in step."""


class Pace:
    """`now` is any monotonic time in seconds, the same for all calls; results are seconds to wait."""

    def __init__(self, options: EngineOptions, rng: random.Random, now: float) -> None:
        self._options = options
        self._rng = rng
        self._pause = 0.0
        self._trouble_pause = 0.0
        self._active_at = now

    def worked(self, now: float) -> None:
        """There was work, or there is reason to expect some: the next empty answer starts with short pauses."""
        self._active_at = now
        self._pause = self._trouble_pause = 0.0

    def hibernates(self, now: float) -> bool:
        return 0 < self._options.idle_timeout <= now - self._active_at

    def empty(self, now: float) -> float:
        """The queue had nothing."""
        self._trouble_pause = 0.0
        longest = self._options.poll_interval
        if self.hibernates(now):
            return self._jittered(max(longest, HIBERNATION_PAUSE))
        self._pause = min(longest, max(FIRST_PAUSE, self._pause * GROWTH))
        return self._jittered(self._pause)

    def trouble(self, retry_after: float | None = None) -> float:
        """The queue gave no usable answer; it may have said when to ask again."""
        longest = max(self._options.poll_interval, TROUBLE_LONGEST_PAUSE)
        self._trouble_pause = min(longest, max(TROUBLE_FIRST_PAUSE, self._trouble_pause * TROUBLE_GROWTH))
        return max(self._jittered(self._trouble_pause), retry_after or 0.0)

    def _jittered(self, seconds: float) -> float:
        return seconds * (1 - self._rng.uniform(0, JITTER))
