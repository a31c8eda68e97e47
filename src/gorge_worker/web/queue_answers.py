"""Tasks as the queue's API shows them: Phorge's column names, in the contract's order."""

from __future__ import annotations

from typing import Any

import msgspec

from gorge_worker.model import ArchivedTask, Task
from gorge_worker.queues.store import StoreStats

_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Task)} | {"archived_epoch": "archivedEpoch"}


class ShownTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_NAMES):
    """A task; what has a default here is left out when it is empty."""

    id: int
    task_class: str
    lease_owner: str | None = None
    lease_expires: int | None = None
    failure_count: int
    data_id: int
    failure_time: int | None = None
    priority: int
    object_phid: str | None = None
    container_phid: str | None = None
    date_created: int
    date_modified: int
    data: str | msgspec.UnsetType = msgspec.UNSET


class ShownArchivedTask(ShownTask, frozen=True, kw_only=True, omit_defaults=True, rename=_NAMES):
    """`duration` is in microseconds."""

    result: int
    duration: int
    archived_epoch: int


def show(task: Task) -> ShownTask:
    """A task without its data."""
    return ShownTask(**_columns(task))


def show_whole(task: Task) -> ShownTask:
    """A task with its data."""
    return ShownTask(**_columns(task), data=task.data)


def show_archived(archived: ArchivedTask) -> ShownArchivedTask:
    return ShownArchivedTask(
        **_columns(archived.task),
        result=archived.result,
        duration=archived.duration,
        archived_epoch=archived.archived_epoch,
    )


def show_stats(stats: StoreStats) -> dict[str, int]:
    return {
        "activeCount": stats.active,
        "leasedCount": stats.leased,
        "archivedCount": stats.archived,
        "failedCount": stats.failed,
    }


def _columns(task: Task) -> dict[str, Any]:
    columns = msgspec.structs.asdict(task)
    del columns["data"]
    may_be_empty = ("lease_owner", "object_phid", "container_phid")
    return columns | {name: columns[name] or None for name in may_be_empty}
