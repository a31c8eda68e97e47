"""What executing a task came to, written down: every row change but a lease's.

The rules are PhabricatorWorkerActiveTask's; times are epoch seconds and stay within their columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gorge_worker.model import ArchivedTask, ArchiveResult
from gorge_worker.queues.sqlite import rows
from gorge_worker.queues.store import (
    AWAKEN_WINDOW,
    MAX_UNSIGNED,
    MIN_YIELD,
    RETRY_OWNER,
    YIELD_OWNER,
    NoSuchTask,
)

_ARCHIVE = (
    "INSERT INTO worker_archivetask (id, taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority, "
    "objectPHID, containerPHID, dateCreated, dateModified, result, duration, archivedEpoch) "
    "SELECT id, taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority, "
    "objectPHID, containerPHID, dateCreated, :now, :result, :duration, :now FROM worker_activetask WHERE id = :id"
)
_DELETE = "DELETE FROM worker_activetask WHERE id = ?"
_FAIL = (
    "UPDATE worker_activetask SET leaseOwner = :owner, leaseExpires = :expires, failureTime = :now, "
    "failureCount = min(failureCount + 1, :most), dateModified = :now WHERE id = :id"
)
_YIELD = "UPDATE worker_activetask SET leaseOwner = :owner, leaseExpires = :expires, dateModified = :now WHERE id = :id"
_RELEASE = (
    "UPDATE worker_activetask SET leaseOwner = NULL, leaseExpires = NULL, dateModified = ? "
    "WHERE id = ? AND leaseOwner = ? AND leaseExpires = ?"
)
_AWAKEN = (
    "UPDATE worker_activetask SET leaseExpires = :past, dateModified = :now "
    "WHERE id = :id AND leaseOwner = :owner AND failureCount = 0 AND leaseExpires > :past"
)


def archive(connection: sqlite3.Connection, now: int, task_id: int, result: ArchiveResult, duration: int = 0) -> None:
    """Moves an active task to the archive, whatever its state; its data stays. `duration` in microseconds."""
    duration = min(max(duration, 0), rows.MAX_INTEGER)
    connection.execute(_ARCHIVE, {"id": task_id, "now": now, "result": result, "duration": duration})
    connection.execute(_DELETE, (task_id,))


def archive_unfenced(
    connection: sqlite3.Connection, now: int, task_id: int, result: ArchiveResult, duration: int = 0
) -> ArchivedTask:
    """Archives a task whoever holds it, and returns it without data. Raises NoSuchTask."""
    if (task := rows.find(connection, task_id)) is None:
        raise NoSuchTask(task_id)
    archive(connection, now, task_id, result, duration)
    archived = msgspec.structs.replace(task, failure_time=None, date_modified=now)
    return ArchivedTask(task=archived, result=result, duration=duration, archived_epoch=now)


def fail(connection: sqlite3.Connection, now: int, task_id: int, wait: int) -> None:
    """Counts a failure and keeps the task away for `wait` seconds. Raises NoSuchTask."""
    values = {"owner": RETRY_OWNER, "expires": _after(now, wait), "now": now, "most": MAX_UNSIGNED}
    _change(connection, _FAIL, task_id, values)


def yield_task(connection: sqlite3.Connection, now: int, task_id: int, seconds: int) -> None:
    """Keeps the task away for at least MIN_YIELD seconds. Raises NoSuchTask."""
    values = {"owner": YIELD_OWNER, "expires": _after(now, max(seconds, MIN_YIELD)), "now": now}
    _change(connection, _YIELD, task_id, values)


def release(connection: sqlite3.Connection, now: int, leases: Iterable[tuple[int, str | None, int | None]]) -> None:
    """Takes leases back; one whose task id, owner and expiry are no longer so together is left alone."""
    connection.executemany(_RELEASE, [(now, *lease) for lease in leases])


def awaken(connection: sqlite3.Connection, now: int, task_ids: Sequence[int]) -> int:
    """Makes yielded tasks due that never failed and were not awakened before; returns how many."""
    values = {"past": max(now - AWAKEN_WINDOW, 0), "now": now, "owner": YIELD_OWNER}
    known = {task_id for task_id in task_ids if rows.is_integer(task_id)}
    return connection.executemany(_AWAKEN, [values | {"id": task_id} for task_id in known]).rowcount


def _change(connection: sqlite3.Connection, statement: str, task_id: int, values: dict[str, Any]) -> None:
    known = rows.is_integer(task_id)
    if not known or connection.execute(statement, values | {"id": task_id}).rowcount == 0:
        raise NoSuchTask(task_id)


def _after(now: int, seconds: int) -> int:
    return min(now + max(seconds, 0), MAX_UNSIGNED)
