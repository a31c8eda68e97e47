"""What a handler function is given."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec
import structlog

from gorge_worker.errors import PermanentFailure
from gorge_worker.foreign_json import decode_json
from gorge_worker.model import NewTask, Task
from gorge_worker.whole_seconds import MAX_SECONDS, whole_seconds

_log = structlog.get_logger()
_NOT_GIVEN = object()


class TaskContext:
    """One execution of a task, for its handler function.

    `task` is the task as it was leased; a test can make a context of any. `queue_time` tells the queue's clock, in
    epoch seconds.
    """

    def __init__(self, task: Task, queue_time: Callable[[], float] = time.time) -> None:
        self.task = task
        self._queue_time = queue_time
        self._followups: list[NewTask] = []

    @property
    def failure_count(self) -> int:
        """How often the task has failed so far."""
        return self.task.failure_count

    @cached_property
    def log(self) -> Any:
        """A structlog logger that adds the task's id and class to every line."""
        return _log.bind(task=self.task.id, task_class=self.task.task_class)

    def data(self) -> Any:
        """The task's data, decoded from JSON. Raises PermanentFailure when it is not JSON.

        The text itself is `task.data`.
        """
        try:
            return decode_json(self.task.data)
        except ValueError as error:
            raise PermanentFailure(f"the task's data is not JSON: {error}") from error

    def follow_up(
        self,
        task_class: str,
        data: Any = _NOT_GIVEN,
        *,
        raw_data: str | None = None,
        priority: int | None = None,
        object_phid: str | None = None,
        container_phid: str | None = None,
        delay: float = 0,
    ) -> None:
        """Has another task enqueued when, and only when, this execution succeeds.

        The new task's data is `data` encoded as JSON, or `raw_data`, which is JSON text already and is kept byte for
        byte; one of them must be given. `priority`: lower numbers go first (default: this task's own). `delay`:
        seconds from now before which the new task is not executed.

        Raises TypeError or ValueError when that is no task.
        """
        if not task_class:
            raise ValueError("a follow-up task needs a task class")
        if (data is _NOT_GIVEN) == (raw_data is None):
            raise TypeError("a follow-up task takes either data or raw_data")
        seconds = whole_seconds(delay)
        if seconds is None:
            raise ValueError(f"delay must be a number of seconds from 0 to {MAX_SECONDS}, not {delay!r}")
        task = NewTask(
            task_class=task_class,
            data=_encoded(data) if raw_data is None else raw_data,
            priority=priority,
            object_phid=object_phid,
            container_phid=container_phid,
            delay_until=int(self._queue_time()) + seconds if seconds else None,
        )
        self._followups.append(_checked(task))

    @property
    def followups(self) -> tuple[NewTask, ...]:
        """The follow-up tasks so far, in order."""
        return tuple(self._followups)


def _encoded(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _checked(task: NewTask) -> NewTask:
    """The task. Raises ValueError for wrong types and lone surrogates, here where the handler's author sees it."""
    msgspec.json.encode(task)
    return msgspec.convert(msgspec.to_builtins(task, builtin_types=(bytes,)), NewTask)
