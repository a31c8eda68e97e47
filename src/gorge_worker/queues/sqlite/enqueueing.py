"""New tasks: ids from the counter, data first, then the task."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gorge_worker.model import NewTask, Priority, Task
from gorge_worker.queues.new_tasks import COLUMNS, columns, enqueued
from gorge_worker.queues.sqlite.schema import COUNTER
from gorge_worker.queues.store import MAX_UNSIGNED, StoreError

_TAKE_IDS = (
    "INSERT INTO lisk_counter (counterName, counterValue) VALUES (?, ?) "
    "ON CONFLICT (counterName) DO UPDATE SET counterValue = counterValue + excluded.counterValue"
)
_LAST_ID = "SELECT counterValue FROM lisk_counter WHERE counterName = ?"
_INSERT_DATA = "INSERT INTO worker_taskdata (data) VALUES (?)"
_MARKS = ", ".join("?" * len(COLUMNS.split(",")))
_INSERT_TASK = f"INSERT INTO worker_activetask ({COLUMNS}, failureCount) VALUES ({_MARKS}, 0)"  # noqa: S608 -- column names


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
    data_id = connection.execute(_INSERT_DATA, (new.data,)).lastrowid or 0
    task = enqueued(new, task_id=task_id, data_id=data_id, now=now, priority=priority)
    connection.execute(_INSERT_TASK, columns(task))
    return task
