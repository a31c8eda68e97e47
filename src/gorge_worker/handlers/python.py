"""Functions that users write in Python, as handlers."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from gorge_worker.clock import Clock
from gorge_worker.errors import PermanentFailure, YieldTask
from gorge_worker.excerpt import excerpt
from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import Marking
from gorge_worker.model import Lease, Outcome, Task
from gorge_worker.whole_seconds import whole_seconds

MAX_REASON = 500
"""Characters."""

_log = structlog.get_logger()


class PythonHandler(ABC):
    """What handler functions of both kinds have in common: what their exceptions mean, and when they are not called."""

    backend = None
    waiting = 0
    stops_when_cancelled: bool

    def __init__(self, marking: Marking, clock: Clock) -> None:
        self._marking = marking
        self._clock = clock
        self.timeout = marking.timeout

    async def execute(self, lease: Lease) -> Outcome:
        """Calls the function. Raises nothing but CancelledError, when the caller cancels it."""
        task, most = lease.task, self._marking.max_failures
        if most is not None and task.failure_count > most:
            return Outcome.permanent_failure(f"failed {task.failure_count} times, and its handler allows {most}")
        context = TaskContext(task, _queue_time(lease, self._clock))
        error = await self._call(context)
        return Outcome.success(context.followups) if error is None else self._outcome(error, task)

    def retry_wait(self, task: Task) -> int | None:
        """What the handler was declared with, in seconds; None for the queue's own wait."""
        wait: Any = self._marking.retry_wait
        if callable(wait):
            try:
                wait = wait(task.failure_count + 1)
            except Exception as error:  # noqa: BLE001 (it is the user's function, and must not cost the task its outcome)
                _log.warning("retry_wait raised", task=task.id, task_class=task.task_class, exc_info=error)
                return None
        return None if wait is None else whole_seconds(wait)

    @abstractmethod
    async def _call(self, context: TaskContext) -> BaseException | None:
        """Calls the function and returns what it raised."""

    def _outcome(self, error: BaseException, task: Task) -> Outcome:
        match error:
            case PermanentFailure():
                return Outcome.permanent_failure(excerpt(str(error), MAX_REASON) or "its handler gave no reason")
            case YieldTask():
                return Outcome.yielded(whole_seconds(error.seconds) or 0)
            case _:
                _log.warning("handler raised", task=task.id, task_class=task.task_class, exc_info=error)
                # Unlike str(), this can't be made to raise by the exception's own code.
                reason = excerpt("".join(traceback.format_exception_only(error)), MAX_REASON)
                return Outcome.temporary_failure(reason, self.retry_wait(task))


class AsyncHandler(PythonHandler):
    """An `async def` function: it runs on the event loop and ends where it awaits when it is cancelled."""

    stops_when_cancelled = True

    def __init__(self, function: Callable[[TaskContext], Awaitable[None]], marking: Marking, clock: Clock) -> None:
        super().__init__(marking, clock)
        self._function = function

    async def _call(self, context: TaskContext) -> BaseException | None:
        try:
            await self._function(context)
        except asyncio.CancelledError as error:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            return error  # something that the function awaited was cancelled, not this execution
        except GeneratorExit:  # the event loop is being torn down
            raise
        except BaseException as error:  # noqa: BLE001 (whatever it raises is its own task's failure)
            return error
        return None


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling a function gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _queue_time(lease: Lease, clock: Clock) -> Callable[[], float]:
    # The lease's end is known on both clocks, so it tells what the queue's clock shows now.
    return lambda: lease.expires - (lease.ends_at - clock.boottime())
