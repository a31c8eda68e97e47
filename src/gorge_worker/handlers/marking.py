"""The decorator that makes a function a task handler."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from gorge_worker.handlers.context import TaskContext

HandlerFunction = Callable[[TaskContext], None] | Callable[[TaskContext], Awaitable[None]]
RetryWait = float | Callable[[int], float]
"""Seconds, or a function that makes them of the failure count, the present failure included."""

AnyHandlerFunction = TypeVar("AnyHandlerFunction", bound=HandlerFunction)

_MARK = "__gorge_worker_task_handler__"


class Marking(msgspec.Struct, frozen=True, kw_only=True):
    """What a handler function was declared with: see `task_handler`."""

    task_classes: tuple[str, ...]
    timeout: float | None
    retry_wait: RetryWait | None
    max_failures: int | None


def task_handler(
    *task_classes: str,
    timeout: float | None = None,
    retry_wait: RetryWait | None = None,
    max_failures: int | None = None,
) -> Callable[[AnyHandlerFunction], AnyHandlerFunction]:
    """Makes a function the handler of task classes; the function itself is left as it is.

    The function takes one argument, a `TaskContext`. An `async def` runs on the event loop and must not block it; any
    other function runs in a thread. Returning is a success. Raising PermanentFailure ends the task for good, YieldTask
    puts it off, and any other exception is a temporary failure, after which the task is executed again.

    `timeout`: seconds that one execution may take (default: the worker's). A function in a thread can't be stopped: one
    that takes longer keeps its slot until it returns.
    `retry_wait`: seconds between a temporary failure and the next execution, or a function that makes them of the
    number of failures, the present one included (default: the queue's own wait).
    `max_failures`: a task that has failed more often than that fails permanently instead of being executed, so a
    maximum of 3 allows 4 executions, as in Phorge (default: no maximum).

    Raises TypeError or ValueError when it is used wrongly.
    """
    if not task_classes or not all(isinstance(name, str) and name for name in task_classes):
        raise TypeError('a task handler names its task classes: @task_handler("ClassName")')
    if timeout is not None and timeout <= 0:
        raise ValueError(f"timeout must be more than 0 seconds, not {timeout}")
    if retry_wait is not None and not callable(retry_wait) and retry_wait < 0:
        raise ValueError(f"retry_wait must be 0 seconds or more, not {retry_wait}")
    if max_failures is not None and max_failures < 0:
        raise ValueError(f"max_failures must be 0 or more, not {max_failures}")
    marking = Marking(task_classes=task_classes, timeout=timeout, retry_wait=retry_wait, max_failures=max_failures)

    def mark(function: AnyHandlerFunction) -> AnyHandlerFunction:
        if marking_of(function) is not None:
            raise TypeError(f"{function!r} is a task handler already: name all its classes in one decorator")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function!r} is a generator: a task handler must not yield")
        setattr(function, _MARK, marking)
        return function

    return mark


def marking_of(value: Any) -> Marking | None:
    """How a value was marked, None when it is no task handler. Runs no code of the value's own."""
    marking = inspect.getattr_static(value, _MARK, None)
    return marking if isinstance(marking, Marking) else None
