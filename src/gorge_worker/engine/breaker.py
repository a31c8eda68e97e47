"""Pausing a backend that executes nothing: a rule without I/O.

Only answers that prove that nothing was executed open it (BackendUnavailable). Anything else that comes back from a
backend, failures of tasks included, proves that it executes and closes it.
"""

from __future__ import annotations

import random

import structlog

THRESHOLD = 3
"""So many refusals in a row open the breaker."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
GROWTH = 2.0
JITTER = 0.1

_log = structlog.get_logger()


class Breaker:
    """Of one backend. `now` is any monotonic time in seconds, the same for all calls."""

    def __init__(self, backend: str, rng: random.Random) -> None:
        self._backend = backend
        self._rng = rng
        self._refusals = 0
        self._pause = 0.0
        self._open_until = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._refusals >= THRESHOLD

    def wait(self, now: float) -> float:
        """Seconds until a task may be executed: 0 now, also when it would be the one probe of an open breaker."""
        if not self.is_open:
            return 0.0
        return max(self._open_until - now, FIRST_PAUSE if self._probing else 0.0)

    def admit(self, now: float) -> bool:
        """Whether a task may be executed now. What was admitted must end in `refused`, `executed` or `undecided`."""
        if self.wait(now) > 0:
            return False
        self._probing = self.is_open
        return True

    def refused(self, now: float, reason: str, retry_after: float | None = None) -> None:
        """The backend executed nothing."""
        self._refusals += 1
        if not self.is_open:
            return
        if self._probing or self._refusals == THRESHOLD:
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._pause * GROWTH))
            pause = self._pause * (1 - self._rng.uniform(0, JITTER))
            self._open_until = now + max(pause, retry_after or 0.0)
        if self._refusals == THRESHOLD:
            _log.warning("backend paused, its tasks go back without a failure", backend=self._backend, reason=reason)
        self._probing = False

    def undecided(self) -> None:
        """An execution was broken off, which says nothing of the backend."""
        self._probing = False

    def executed(self) -> None:
        """The backend executed a task, or may have."""
        if self.is_open:
            _log.info("backend works again", backend=self._backend)
        self._refusals, self._pause, self._probing = 0, 0.0, False
