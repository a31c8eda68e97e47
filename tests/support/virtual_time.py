"""An event loop in which time passes only when nothing else can happen, and then at once.

Tests of waits, deadlines and back-offs run in milliseconds and always in the same order.
"""

from __future__ import annotations

import asyncio
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
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now = 1000.0
        selector = _Jumping()
        selector.loop = self
        super().__init__(selector)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self.now


class VirtualClock:
    """The product's Clock on the running loop's virtual time. `wall` starts at a fixed epoch."""

    EPOCH = 1_700_000_000.0

    def boottime(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return self.EPOCH + self.boottime()


def run_virtually(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main)
