"""The bodies of the queue's API (queue-http contract, generation 0), and what of their values is acceptable.

Null counts as left out. Whether a task's own values fit their columns is for the store to say.
"""

from __future__ import annotations

import msgspec

from gorge_worker.model import NewTask
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.web.errors import Refused

MAX_LEASE = 1000
"""The most tasks that one lease hands out, whatever its limit."""
MAX_CLASSES = 1000
"""The most classes that one lease may name."""
MAX_DURATION = 2**63 - 1
"""Microseconds; the most that every store's column takes."""

_NAMES = {
    **{field.name: field.encode_name for field in msgspec.structs.fields(NewTask)},
    "task_id": "taskID",
    "task_ids": "taskIDs",
    "task_classes": "taskClasses",
    "exclude_task_classes": "excludeTaskClasses",
    "retry_wait": "retryWait",
}


class EnqueueBody(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    task_class: str
    data: str | None = None
    priority: int | None = None
    object_phid: str | None = None
    container_phid: str | None = None
    delay_until: int | None = None

    def task(self) -> NewTask:
        return NewTask(
            task_class=self.task_class,
            data=self.data or "",
            priority=self.priority,
            object_phid=self.object_phid or None,
            container_phid=self.container_phid or None,
            delay_until=self.delay_until,
        )


class LeaseBody(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    limit: int | None = None
    task_classes: list[str] | None = None
    exclude_task_classes: list[str] | None = None
    wait: float | None = None

    def places(self) -> int:
        """How many tasks are wanted at most."""
        return min(max(self.limit or 1, 1), MAX_LEASE)

    def classes(self) -> ClassFilter:
        """The classes that are wanted. Raises Refused."""
        lists = {"taskClasses": self.task_classes or [], "excludeTaskClasses": self.exclude_task_classes or []}
        for name, named in lists.items():
            if len(named) > MAX_CLASSES:
                raise Refused(400, f"{name} names {len(named)} classes, more than {MAX_CLASSES}")
        return ClassFilter(*map(tuple, lists.values()))

    def patience(self) -> float:
        """Seconds to wait for a task; the service has a bound of its own. Raises Refused."""
        wait = self.wait or 0.0
        if wait < 0:
            raise Refused(400, f"wait is {wait:g}: it must be a number of seconds, 0 or more")
        return wait


class TaskBody(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    """Whatever is said of one task; a cancel says nothing more."""

    task_id: int | None = None

    def subject(self) -> int:
        """The task's id. Raises Refused when it can be no id."""
        if self.task_id is None or self.task_id <= 0:
            raise Refused(400, "taskID must be a number above 0")
        return self.task_id


class CompleteBody(TaskBody, frozen=True, kw_only=True, rename=_NAMES):
    duration: int | None = None

    def microseconds(self) -> int:
        """How long the task took. Raises Refused."""
        duration = self.duration or 0
        if not 0 <= duration <= MAX_DURATION:
            raise Refused(400, f"duration must be from 0 to {MAX_DURATION} microseconds")
        return duration


class FailBody(TaskBody, frozen=True, kw_only=True, rename=_NAMES):
    permanent: bool | None = None
    retry_wait: int | None = None
    message: str | None = None

    def wait(self) -> int | None:
        """Seconds until the next try, None for the queue's own. Raises Refused."""
        if self.retry_wait is not None and self.retry_wait < 0:
            raise Refused(400, f"retryWait is {self.retry_wait}: it must be a number of seconds, 0 or more")
        return self.retry_wait


class YieldBody(TaskBody, frozen=True, kw_only=True, rename=_NAMES):
    duration: int | None = None


class AwakenBody(msgspec.Struct, frozen=True, kw_only=True, rename=_NAMES):
    task_ids: list[int] | None = None

    def subjects(self) -> list[int]:
        """The ids of the tasks. Raises Refused when there are none."""
        if not self.task_ids:
            raise Refused(400, "taskIDs must name at least one task")
        return self.task_ids
