"""Which handler executes which task class."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from gorge_worker.model import Lease, Outcome, Task

ANY_CLASS = "*"
"""Stands for every class that has no handler of its own."""


class Handler(Protocol):
    """Executes the tasks of one or more classes."""

    @property
    def backend(self) -> str | None:
        """The name of the backend that it needs, None when it needs none. Backends are paused by name."""
        ...

    @property
    def timeout(self) -> float | None:
        """Seconds that one execution may take; None for the engine's default, infinity when it keeps a limit itself."""
        ...

    @property
    def stops_when_cancelled(self) -> bool:
        """True when nothing of the execution goes on after a cancellation, so that the task may be executed again
        at once. False for work handed to PHP, which goes on after its caller has gone.
        """
        ...

    @property
    def waiting(self) -> int:
        """How many executions have not begun, since others occupy what they need (a PHP process)."""
        ...

    def retry_wait(self, task: Task) -> int | None:
        """Seconds to wait after a failure that `execute` could not tell itself, a time-out above all; None for the
        queue's own wait.
        """
        ...

    async def execute(self, lease: Lease) -> Outcome:
        """Executes the task. Raises BackendUnavailable when nothing was executed, LeaseLost when the lease is no
        longer held; any other exception is a temporary failure.
        """
        ...


class Registry:
    """Task class -> handler, in registration order, with an optional fallback and filter."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._filter: frozenset[str] | None = None

    def register(self, task_class: str, handler: Handler) -> None:
        """Registers a handler; ANY_CLASS registers the fallback. Raises ValueError when the class has one already."""
        if task_class in self._handlers:
            raise ValueError(f"two handlers for the task class {task_class!r}")
        self._handlers[task_class] = handler

    def restrict(self, task_classes: Collection[str]) -> None:
        """Processes these classes only. Raises ValueError naming those that nothing handles."""
        if unknown := [name for name in task_classes if not self._knows(name)]:
            raise ValueError(", ".join(unknown))
        self._filter = frozenset(task_classes)

    def _knows(self, task_class: str) -> bool:
        return task_class in self._handlers or ANY_CLASS in self._handlers

    def find(self, task_class: str) -> Handler | None:
        """The handler of a class, None when it is filtered out or nothing handles it."""
        if self._filter is not None and task_class not in self._filter:
            return None
        return self._handlers.get(task_class) or self._handlers.get(ANY_CLASS)

    @property
    def supported(self) -> list[str]:
        """The registered classes in registration order, the fallback last."""
        named = [name for name in self._handlers if name != ANY_CLASS]
        return [*named, ANY_CLASS] if ANY_CLASS in self._handlers else named

    @property
    def leasable(self) -> dict[str, Handler]:
        """What a lease may be limited to: class -> handler after the filter; has ANY_CLASS when any class will do."""
        if self._filter is None:
            return dict(self._handlers)
        return {name: handler for name in sorted(self._filter) if (handler := self.find(name)) is not None}
