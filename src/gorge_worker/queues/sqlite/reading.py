"""Questions that change nothing: they are answered beside the writing thread, from what has been committed."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from gorge_worker.model import Task
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.sqlite import rows
from gorge_worker.queues.sqlite.classes import named_classes
from gorge_worker.queues.store import MAX_UNSIGNED, NoSuchTask, StoreStats

_STATS = (
    "SELECT (SELECT count(*) FROM worker_activetask), "
    "(SELECT count(*) FROM worker_activetask WHERE leaseOwner IS NOT NULL AND leaseExpires >= ?), "
    "(SELECT count(*) FROM worker_archivetask), "
    "(SELECT count(*) FROM worker_activetask WHERE failureCount > 0)"
)
LIST = f"{rows.WITHOUT_DATA} INDEXED BY active_by_priority ORDER BY priority, id LIMIT :limit OFFSET :offset"
LIST_OF_OWNER = (
    f"{rows.WITHOUT_DATA} INDEXED BY active_by_owner WHERE leaseOwner = :owner "
    "ORDER BY priority, id LIMIT :limit OFFSET :offset"
)


class _Moments(NamedTuple):
    """The statements that find the next moment at which there is something to lease.

    A row without an owner and with a future expiry is another program's (`bin/worker delay`): few, if any. So the
    first statement finds a row at once when there is new work, and the second has few to look at when there is none.
    """

    new: str
    delayed: str
    owned: str

    @classmethod
    def of(cls, new_index: str, due_index: str, condition: str) -> _Moments:
        no_owner = f"FROM worker_activetask INDEXED BY {new_index} WHERE leaseOwner IS NULL {condition}"
        owner = f"FROM worker_activetask INDEXED BY {due_index} WHERE leaseOwner IS NOT NULL {condition}"
        return cls(
            new=f"SELECT 1 {no_owner} AND (leaseExpires IS NULL OR leaseExpires <= :now) LIMIT 1",
            delayed=f"SELECT min(leaseExpires) {no_owner} AND leaseExpires <= :most",
            owned=f"SELECT min(leaseExpires) {owner} AND leaseExpires <= :most",
        )


OF_ANY = _Moments.of("active_by_owner", "active_due", "")
OF_CLASS = _Moments.of("active_new_by_class", "active_due_by_class", "AND taskClass = :task_class")


def task(connection: sqlite3.Connection, task_id: int) -> Task:
    """One active task with its data. Raises NoSuchTask."""
    if (found := rows.find_with_data(connection, task_id)) is None:
        raise NoSuchTask(task_id)
    return found.task


def active_tasks(connection: sqlite3.Connection, limit: int, offset: int, owner: str | None) -> list[Task]:
    """Active tasks without data, by priority and id."""
    values = {"limit": _within(limit), "offset": _within(offset), "owner": owner}
    found = connection.execute(LIST if owner is None else LIST_OF_OWNER, values)
    return [rows.read(row).task for row in found]


def _within(number: int) -> int:
    return min(max(number, 0), rows.MAX_INTEGER)


def stats(connection: sqlite3.Connection, now: int) -> StoreStats:
    active, leased, archived, failed = connection.execute(_STATS, (now,)).fetchone()
    return StoreStats(active=active, leased=leased, archived=archived, failed=failed)


def next_due(connection: sqlite3.Connection, now: int, classes: ClassFilter) -> int | None:
    """The earliest epoch second at which a task can be leased, `now` when one can be already, None for never."""
    values = {"now": now, "most": MAX_UNSIGNED}
    if (named := named_classes(connection, classes)) is None:
        return _next_moment(connection, OF_ANY, values)
    moments = (_next_moment(connection, OF_CLASS, values | {"task_class": name}) for name in named)
    return min((moment for moment in moments if moment is not None), default=None)


def _next_moment(connection: sqlite3.Connection, moments: _Moments, values: dict[str, Any]) -> int | None:
    now: int = values["now"]
    if connection.execute(moments.new, values).fetchone():
        return now
    [delayed] = connection.execute(moments.delayed, values).fetchone()
    [owned] = connection.execute(moments.owned, values).fetchone()
    # An owned row is due once its last second has passed, one without an owner at that second.
    later = [] if delayed is None else [int(delayed)]
    later += [] if owned is None else [int(owned) + 1]
    return max(now, min(later)) if later else None
