"""Leases of made-up tasks, for tests of handlers."""

from __future__ import annotations

from typing import Any

from gorge_worker.model import Lease, Task

QUEUE_TIME = 1_785_585_600
"""What the queue's clock shows when FixedClock's boot time is 0."""


class FixedClock:
    """Shows the time that it was set to."""

    def __init__(self, boottime: float = 0.0, wall: float = float(QUEUE_TIME)) -> None:
        self.now = boottime
        self.epoch = wall

    def boottime(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.epoch


def lease_of(task_class: str = "ExampleWorker", data: str = "{}", **fields: Any) -> Lease:
    task = Task(id=7, task_class=task_class, data=data, **fields)
    return Lease(task=task, owner="owner", expires=QUEUE_TIME + 7200, ends_at=7200.0)
