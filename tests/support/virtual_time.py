"""An event loop in which time passes only when nothing else can happen, and then at once.

Tests of waits, deadlines and back-offs run in milliseconds and always in the same order.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Coroutine
from typing import Any


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for a time-out, moves the loop's clock to its end."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("nothing will ever happen again: every task waits for another")
            self.loop.now += max(0.0, timeout - self.loop.rng.uniform(0, self.loop.earliness))
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """`drift`: seconds by which time moves on at every look at it, as it does in a real process; timers then fire up to
    a millisecond early as well, as uvloop's do.
    """

    def __init__(self, drift: float = 0.0) -> None:
        self.now = 1000.0
        self._drift = drift
        selector = _Jumping()
        selector.loop = self
        super().__init__(selector)
        self.rng = random.Random(0)
        self.earliness = 1e-3 if drift else 0.0
        self._clock_resolution = 1e-3 if drift else 1e-9

    def time(self) -> float:
        self.now += self._drift
        return self.now


class VirtualClock:
    """The product's Clock on the running loop's virtual time. `wall` starts at a fixed epoch."""

    EPOCH = 1_700_000_000.0

    def boottime(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return self.EPOCH + self.boottime()


def run_virtually(main: Coroutine[Any, Any, None], drift: float = 0.0) -> None:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(drift)) as runner:
        runner.run(main)
