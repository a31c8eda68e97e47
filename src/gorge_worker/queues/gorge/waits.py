"""The waits of tasks that failed here. A rule without I/O."""

from __future__ import annotations

MOST = 10_000
"""Tasks whose wait is remembered; beyond, the oldest is forgotten and may be executed early."""
ROUNDING = 1.0
"""Seconds taken off a wait: the queue counts in whole seconds, and may hand a task out so much early by right."""
SHORTEST = 1.0


class Waits:
    """The Go server of generation 0 hands a failed task out again at once (queue contract, fact 2): the worker keeps
    the wait in its place. Times are CLOCK_BOOTTIME in seconds.
    """

    def __init__(self) -> None:
        self._due: dict[int, float] = {}

    def keep(self, task_id: int, seconds: float, now: float) -> None:
        """The task has failed and is not to be executed for so many seconds."""
        self._due.pop(task_id, None)
        self._due[task_id] = now + max(seconds - ROUNDING, SHORTEST)
        while (oldest := next(iter(self._due))) != task_id and (len(self._due) > MOST or self._due[oldest] <= now):
            del self._due[oldest]

    def due(self, task_id: int, now: float) -> float | None:
        """When the task may be executed again; None when it may be now."""
        due = self._due.get(task_id)
        if due is None or due > now:
            return due
        del self._due[task_id]
        return None
