"""Outcomes that wait before they are reported again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from gorge_worker.engine.held import Held

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
GROWTH = 2.0
MOST_GROWN = 20
"""Tries beyond which the pause has long stopped growing."""
JITTER = 0.2


class Retries:
    """Each with a backoff of its own. `again` gets an outcome when its pause is over."""

    def __init__(self, rng: random.Random, again: Callable[[Held], None]) -> None:
        self._rng = rng
        self._again = again
        self._timers: dict[Held, asyncio.TimerHandle] = {}

    def later(self, held: Held, at_least: float = 0.0) -> None:
        """Puts an outcome off after one more try in vain; `at_least` so many seconds."""
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * GROWTH ** min(held.tries, MOST_GROWN))
        pause *= 1 - self._rng.uniform(0, JITTER)
        held.tries += 1
        self._timers[held] = asyncio.get_running_loop().call_later(max(pause, at_least), self._over, held)

    def take_all(self) -> list[Held]:
        """What waits, and need not wait any longer."""
        for timer in self._timers.values():
            timer.cancel()
        waiting = list(self._timers)
        self._timers.clear()
        return waiting

    def _over(self, held: Held) -> None:
        del self._timers[held]
        self._again(held)
