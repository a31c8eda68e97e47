"""The clocks, as a parameter: the engine runs under a simulated one as well."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Time in seconds. Waiting is the event loop's business, not the clock's."""

    def boottime(self) -> float:
        """A monotonic time that goes on while the machine is suspended: leases are counted down on it."""
        ...

    def wall(self) -> float:
        """Epoch seconds by this machine's clock, which may be wrong."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall(self) -> float:
        return time.time()
