"""What a store keeps tasks in: everything that the queue server and an embedded worker need of one.

The meaning of every operation is the queue contract's (docs/architecture.md, "The queue's rules"). All times are
the store's own clock, in whole epoch seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from gorge_worker.errors import GorgeWorkerError
from gorge_worker.model import ArchivedTask, Lease, NewTask, Task
from gorge_worker.queues.protocol import ANY, ClassFilter, Report, ReportResult

YIELD_OWNER = "(yield)"
"""The owner of a yielded task (PhabricatorWorker::YIELD_OWNER): it counts no failure and can be awakened."""
RETRY_OWNER = "(retry)"
"""The owner of a task that failed: not NULL, so that its wait holds against PHP's lease query too."""
DELAY_OWNER = "(delay)"
"""The owner of a task that was enqueued with a future `delayUntil`, for the same reason."""

MIN_YIELD = 5
"""Seconds; a shorter yield lasts as long (PhabricatorWorkerActiveTask)."""
AWAKEN_WINDOW = 3600
"""Seconds; awakening puts `leaseExpires` so far into the past and does nothing to a task that is there already."""
MAX_CLASS_BYTES = 64
MAX_OWNER_BYTES = 64
MAX_PHID_BYTES = 64
MAX_EVENT_BYTES = 255
MAX_UNSIGNED = 2**32 - 1
"""The largest value of an `int unsigned` column: ids, priorities, epochs."""


class StoreError(GorgeWorkerError):
    """The store could not do it now (disk full, database away). The message is for the log, not for callers."""


class NoSuchTask(GorgeWorkerError):
    """There is no active task of that id."""

    def __init__(self, task_id: int) -> None:
        super().__init__(f"no active task {task_id}")
        self.task_id = task_id


class BadTask(GorgeWorkerError):
    """A value that no column can hold; the message names it. Nothing was written."""


class EventConflict(GorgeWorkerError):
    """The event was enqueued before, with another task."""

    def __init__(self, event_id: str) -> None:
        super().__init__(f"the event {event_id!r:.80} was enqueued before with another task")
        self.event_id = event_id


class NotSupported(GorgeWorkerError):
    """The store has no place for it; the message says what is not possible."""


class StoreLease(msgspec.Struct, frozen=True, kw_only=True):
    """What to lease: at most `limit` (1 or more) tasks of the wanted classes for `owner`, for `duration` seconds."""

    owner: str
    limit: int
    duration: int
    classes: ClassFilter = ANY


class Renewed(msgspec.Struct, frozen=True):
    """What became of renewing a lease: the task as it stands now, without data, or None and why it is lost. With
    `trouble` it is not lost, but could not be renewed now.
    """

    task: Task | None
    reason: str = ""
    trouble: bool = False


class StoreStats(msgspec.Struct, frozen=True, kw_only=True):
    """`leased`: active tasks with an owner whose lease has not run out. `failed`: active tasks that failed before."""

    active: int
    leased: int
    archived: int
    failed: int


class TaskStore(Protocol):
    """Keeps tasks. Every method may raise StoreError; what has returned is durable."""

    @property
    def shared(self) -> bool:
        """Whether tasks come from others as well, as Phorge's do, so that only asking tells whether there are some."""
        ...

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        """Adds tasks, all or none, and returns them in order. Raises BadTask."""
        ...

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        """Adds a task once: the same id with the same task gives back, however often, the task as it was first added.

        `event_id` has 1 to MAX_EVENT_BYTES bytes. Raises BadTask, EventConflict for the same id with another task, and
        NotSupported where `supports_events` is false.
        """
        ...

    async def supports_events(self) -> bool: ...

    async def lease(self, wanted: StoreLease) -> list[Task]:
        """Leases tasks under an owner: new ones by priority and id, due ones (expired, retried, yielded) by
        `leaseExpires`. When there are due ones they get at least a quarter of the places.
        """
        ...

    async def next_due(self, classes: ClassFilter) -> int | None:
        """The earliest epoch second at which a waiting task of these classes can be leased, None for never."""
        ...

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        """Moves the ends of leases to `duration` seconds from now, never backwards, in one transaction.

        Each is guarded as a report is; the new `leaseExpires` is the lease's third part from then on.
        """
        ...

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        """Applies outcomes in one transaction, each guarded by its lease (id, owner, expiry, not run out) and with
        its own result. Follow-ups are enqueued in the same transaction. Repeating a success is harmless.
        """
        ...

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        """Archives as a success, whoever holds the lease. `duration` in microseconds. Raises NoSuchTask."""
        ...

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        """Archives as a failure, or counts a failure and keeps the task away for `retry_wait` seconds (None: the
        store's own), whoever holds the lease. Raises NoSuchTask.
        """
        ...

    async def yield_task(self, task_id: int, seconds: int) -> None:
        """Keeps the task away for at least MIN_YIELD seconds, whoever holds the lease. Raises NoSuchTask."""
        ...

    async def release(self, tasks: Sequence[Task]) -> None:
        """Takes leases back whose answer never reached the caller: available at once, nothing counted. `tasks` are
        as leased; one whose lease has changed since is left alone.
        """
        ...

    async def cancel(self, task_id: int) -> ArchivedTask:
        """Archives as cancelled, whatever the state. Raises NoSuchTask."""
        ...

    async def awaken(self, task_ids: Sequence[int]) -> int:
        """Makes yielded tasks due that never failed and were not awakened within AWAKEN_WINDOW; returns how many."""
        ...

    async def stats(self) -> StoreStats: ...

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        """Active tasks without data, by priority and id; of one lease owner when it is given."""
        ...

    async def task(self, task_id: int) -> Task:
        """One active task with its data. Raises NoSuchTask."""
        ...

    async def close(self) -> None: ...
