"""The counters of `GET /api/worker/stats`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stats:
    """`processed`: successes that the queue accepted. `failed`: permanent and temporary failures.
    `active`: tasks being executed now. A yield or a release counts as neither.
    """

    processed: int = 0
    failed: int = 0
    active: int = 0
