"""Questions that change nothing."""

from __future__ import annotations

from gorge_worker.model import Task
from gorge_worker.queues.mysql.candidates import class_condition, find_due, find_new
from gorge_worker.queues.mysql.rows import WITH_DATA, WITHOUT_DATA, by_id, read, read_whole
from gorge_worker.queues.mysql.seen import SeenByFilter
from gorge_worker.queues.mysql.session import Session
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.store import MAX_UNSIGNED, NoSuchTask, StoreStats

COUNTED = 100_000
"""Rows that are counted one by one; of more there is an estimate, as counting millions would take seconds."""
AHEAD = 1000
"""Waiting tasks, in the order of their time, that are looked at for one of a wanted class."""

_COUNT = "SELECT COUNT(*) FROM (SELECT 1 FROM {rows} LIMIT {most}) AS counted"
_ROWS = {
    "active": "worker_activetask",
    "leased": "worker_activetask WHERE leaseExpires >= %s AND leaseOwner IS NOT NULL",
    "archived": "worker_archivetask",
    "failed": "worker_activetask WHERE failureTime IS NOT NULL AND failureCount > 0",
}
_ESTIMATE = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s"

# Phorge has no index on priority and id alone. The rows without an owner, nearly all of a long queue, are in order.
LIST = (
    f"({WITHOUT_DATA} WHERE t.leaseOwner IS NULL ORDER BY t.priority, t.id LIMIT %s) UNION ALL "
    f"({WITHOUT_DATA} WHERE t.leaseOwner IS NOT NULL ORDER BY t.priority, t.id LIMIT %s) "
    "ORDER BY priority, id LIMIT %s OFFSET %s"
)
LIST_OF_OWNER = f"{WITHOUT_DATA} WHERE t.leaseOwner = %s ORDER BY t.priority, t.id LIMIT %s OFFSET %s"


def task(session: Session, task_id: int) -> Task:
    """One active task with its data. Raises NoSuchTask."""
    found = by_id(session, WITH_DATA, [task_id]) if 0 < task_id <= MAX_UNSIGNED else []
    if not found:
        raise NoSuchTask(task_id)
    return read_whole(found[0]).task


def active_tasks(session: Session, limit: int, offset: int, owner: str | None) -> list[Task]:
    """Active tasks without data, by priority and id."""
    limit, offset = (min(max(number, 0), MAX_UNSIGNED) for number in (limit, offset))
    if owner is None:
        found = session.rows(LIST, (offset + limit, offset + limit, limit, offset))
    else:
        found = session.rows(LIST_OF_OWNER, (owner, limit, offset))
    return [read(row).task for row in found]


def stats(session: Session) -> StoreStats:
    """Exact up to COUNTED of a kind; beyond, active and archived tasks are the database's estimate."""
    return StoreStats(**{kind: _count(session, kind) for kind in _ROWS})


def _count(session: Session, kind: str) -> int:
    rows = _ROWS[kind]
    values = (session.now,) if "%s" in rows else ()
    [[count]] = session.rows(_COUNT.format(rows=rows, most=COUNTED + 1), values)
    if count > COUNTED and " " not in rows:
        [[estimate]] = session.rows(_ESTIMATE, (rows,))
        return max(int(count), int(estimate or 0))
    return int(count)


def next_due(session: Session, classes: ClassFilter, seen: SeenByFilter) -> int | None:
    """The earliest epoch second at which a task can be leased, now when one can be already, None for never.

    Where many tasks of other classes wait, it is a moment before which there is certainly none.
    """
    for find in (find_new, find_due):
        found = find(session, classes, 1, seen)
        if found.ids or found.more:
            return session.now
    line = "FROM worker_activetask WHERE leaseExpires >= %s ORDER BY leaseExpires"
    # An owned row is due once its last second has passed, one without an owner at that second.
    due = "leaseExpires + (leaseOwner IS NOT NULL)"
    if not classes.only and not classes.without:
        first = session.rows(f"SELECT {due} {line} LIMIT 1", (session.now,))
        return max(int(first[0][0]), session.now) if first else None
    wanted = class_condition(classes)
    [[earliest, last, count]] = session.rows(
        f"SELECT MIN(IF(wanted, due, NULL)), MAX(due), COUNT(*) FROM (SELECT {due} AS due, {wanted.text} AS wanted "  # noqa: S608
        f"{line} LIMIT {AHEAD}) AS ahead",
        (*wanted.values, session.now),
    )
    if earliest is None and count >= AHEAD:
        earliest = last
    return None if earliest is None else max(int(earliest), session.now)
