"""New tasks: ids from the counter, data first, then the task."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gorge_worker.model import NewTask, Priority, Task
from gorge_worker.queues.sqlite.schema import COUNTER
from gorge_worker.queues.store import DELAY_OWNER, MAX_UNSIGNED, StoreError

_TAKE_IDS = (
    "INSERT INTO lisk_counter (counterName, counterValue) VALUES (?, ?) "
    "ON CONFLICT (counterName) DO UPDATE SET counterValue = counterValue + excluded.counterValue"
)
_LAST_ID = "SELECT counterValue FROM lisk_counter WHERE counterName = ?"
_INSERT_DATA = "INSERT INTO worker_taskdata (data) VALUES (?)"
_INSERT_TASK = (
    "INSERT INTO worker_activetask (id, taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority, "
    "objectPHID, containerPHID, dateCreated, dateModified) VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)"
)


def enqueue(
    connection: sqlite3.Connection, now: int, tasks: Sequence[NewTask], priority: int = Priority.DEFAULT
) -> list[Task]:
    """Inserts tasks that have been checked; `priority` is for those without one. Returns them without data.

    Raises StoreError when there are no ids left.
    """
    if not tasks:
        return []
    return [
        _insert(connection, now, task_id, task, priority)
        for task_id, task in zip(_take_ids(connection, len(tasks)), tasks, strict=True)
    ]


def _take_ids(connection: sqlite3.Connection, count: int) -> range:
    connection.execute(_TAKE_IDS, (COUNTER, count))
    [last] = connection.execute(_LAST_ID, (COUNTER,)).fetchone()
    if last > MAX_UNSIGNED:
        raise StoreError(f"the task ids are used up: lisk_counter stands at {last}, a column holds {MAX_UNSIGNED}")
    return range(last - count + 1, last + 1)


def _insert(connection: sqlite3.Connection, now: int, task_id: int, new: NewTask, priority: int) -> Task:
    delayed = new.delay_until is not None and new.delay_until > now
    task = Task(
        id=task_id,
        task_class=new.task_class,
        lease_owner=DELAY_OWNER if delayed else None,
        lease_expires=new.delay_until if delayed else None,
        data_id=connection.execute(_INSERT_DATA, (new.data,)).lastrowid or 0,
        priority=int(priority if new.priority is None else new.priority),
        object_phid=new.object_phid or None,
        container_phid=new.container_phid or None,
        date_created=now,
        date_modified=now,
    )
    connection.execute(
        _INSERT_TASK,
        (
            task.id,
            task.task_class,
            task.lease_owner,
            task.lease_expires,
            task.data_id,
            task.priority,
            task.object_phid,
            task.container_phid,
            task.date_created,
            task.date_modified,
        ),
    )
    return task
