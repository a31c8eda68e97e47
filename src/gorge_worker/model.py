"""Task, lease and outcome: plain immutable data, without I/O.

The JSON names are Phorge's column names and never change; the Python names follow them.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec


class Priority(IntEnum):
    """Phorge's priorities (PhabricatorWorker::PRIORITY_*): lower numbers go first."""

    ALERTS = 1000
    DEFAULT = 2000
    COMMIT = 2500
    BULK = 3000
    INDEX = 3500
    IMPORT = 4000


_COLUMNS = {
    "task_class": "taskClass",
    "lease_owner": "leaseOwner",
    "lease_expires": "leaseExpires",
    "failure_count": "failureCount",
    "data_id": "dataID",
    "failure_time": "failureTime",
    "object_phid": "objectPHID",
    "container_phid": "containerPHID",
    "date_created": "dateCreated",
    "date_modified": "dateModified",
    "delay_until": "delayUntil",
}


class Task(msgspec.Struct, frozen=True, kw_only=True, rename=_COLUMNS):
    """An active task, as Phorge's `worker_activetask` holds it. Times are epoch seconds of the queue's clock.

    `data` is JSON text of any kind, kept byte for byte; listings leave it empty.
    """

    id: int
    task_class: str
    lease_owner: str | None = None
    lease_expires: int | None = None
    failure_count: int = 0
    data_id: int = 0
    failure_time: int | None = None
    priority: int = Priority.DEFAULT
    object_phid: str | None = None
    container_phid: str | None = None
    date_created: int = 0
    date_modified: int = 0
    data: str = ""


class ArchiveResult(IntEnum):
    """What an archived task came to (PhabricatorWorkerArchiveTask::RESULT_*)."""

    SUCCESS = 0
    FAILURE = 1
    CANCELLED = 2


class ArchivedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that has left the queue. `duration` is in microseconds, `archived_epoch` in epoch seconds."""

    task: Task
    result: ArchiveResult
    duration: int
    archived_epoch: int


class NewTask(msgspec.Struct, frozen=True, kw_only=True, rename=_COLUMNS):
    """A task to be enqueued, also as a follow-up of another one.

    Without a priority a follow-up gets its parent's, any other task the default. `delay_until` is in epoch
    seconds of the queue's clock.
    """

    task_class: str
    data: str = ""
    priority: int | None = None
    object_phid: str | None = None
    container_phid: str | None = None
    delay_until: int | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The right to execute one task until it runs out.

    `owner` and `expires` (epoch seconds of the queue's clock) identify it to the queue; `ends_at` is the same
    moment on this machine's CLOCK_BOOTTIME, in seconds, and is what the worker goes by: the two clocks may differ.
    """

    task: Task
    owner: str
    expires: int
    ends_at: float


class Verdict(StrEnum):
    """What executing a task came to, in the words of Conduit's `worker.execute` where it has one."""

    SUCCESS = "success"
    PERMANENT_FAILURE = "permanent-failure"
    TEMPORARY_FAILURE = "failure"
    YIELD = "yield"
    RELEASE = "release"
    """Given back without having been executed: no failure is counted."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What executing a task came to.

    `wait` (seconds) is a temporary failure's retry wait, None for the queue's own, or how long a yield or a
    release keeps the task away. `duration` (microseconds) is what the backend says that it took.
    """

    verdict: Verdict
    reason: str = ""
    wait: int | None = None
    followups: tuple[NewTask, ...] = ()
    duration: int | None = None

    @classmethod
    def success(cls, followups: tuple[NewTask, ...] = (), duration: int | None = None) -> Outcome:
        return cls(verdict=Verdict.SUCCESS, followups=followups, duration=duration)

    @classmethod
    def permanent_failure(cls, reason: str) -> Outcome:
        return cls(verdict=Verdict.PERMANENT_FAILURE, reason=reason)

    @classmethod
    def temporary_failure(cls, reason: str, wait: int | None = None) -> Outcome:
        return cls(verdict=Verdict.TEMPORARY_FAILURE, reason=reason, wait=wait)

    @classmethod
    def yielded(cls, wait: int, reason: str = "") -> Outcome:
        return cls(verdict=Verdict.YIELD, wait=wait, reason=reason)

    @classmethod
    def released(cls, reason: str, wait: int | None = None) -> Outcome:
        return cls(verdict=Verdict.RELEASE, wait=wait, reason=reason)
