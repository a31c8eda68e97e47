"""Tasks that are handed to PHP."""

from __future__ import annotations

from typing import Protocol

from gorge_worker.model import Lease, Outcome, Task


class Delegate(Protocol):
    """Where tasks can be handed to."""

    async def execute(self, task: Task) -> Outcome:
        """Executes a task elsewhere. Raises BackendUnavailable and LeaseLost as a handler does."""
        ...


class DelegateHandler:
    """Hands tasks to PHP, which goes on executing when its caller has gone.

    `name` is the backend's, for its breaker and for the logs. `timeout` is in seconds, None for the engine's default.
    """

    stops_when_cancelled = False

    def __init__(self, delegate: Delegate, *, name: str, timeout: float | None) -> None:
        self._delegate = delegate
        self.backend = name
        self.timeout = timeout

    def retry_wait(self, _task: Task) -> None:
        """The queue's own: only PHP knows the class's, and it has not answered."""

    async def execute(self, lease: Lease) -> Outcome:
        return await self._delegate.execute(lease.task)
