"""What can be set about the engine. Seconds throughout."""

from __future__ import annotations

import msgspec

DEFAULT_TIMEOUT = 7200.0
"""How long a task may run when nothing else says so: PhabricatorWorker::getRequiredLeaseTime's default is as long."""


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`poll_interval` is the longest pause between polls of an empty queue; `idle_timeout` 0 never hibernates."""

    max_workers: int = 4
    lease_limit: int = 4
    poll_interval: float = 1.0
    idle_timeout: float = 180.0
    drain_timeout: float = 30.0

    @property
    def most_unreported(self) -> int:
        """How many outcomes may wait for the queue to take them before leasing stops: a bound for memory."""
        return max(1000, 16 * self.max_workers)
