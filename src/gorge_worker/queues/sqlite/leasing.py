"""Which tasks a lease gets. New ones have no owner; due ones have one whose time is over (expired, retried, yielded).

The statements name their index: whatever the table holds, a lease reads as many entries as it takes places.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import structlog

from gorge_worker.model import Task
from gorge_worker.queues.rows import BROKEN_OWNER, BROKEN_REST, MAX_BROKEN
from gorge_worker.queues.sqlite.classes import named_classes
from gorge_worker.queues.sqlite.rows import MAX_INTEGER, find_with_data
from gorge_worker.queues.store import MAX_UNSIGNED, StoreLease
from gorge_worker.queues.turns import share

log = structlog.get_logger()

LEASE_CHARACTERS = 16 * 1024 * 1024
"""After so much data no further task is added to a lease: a few hundred huge ones must not fill anybody's memory."""

NEW = (
    "SELECT priority, id FROM worker_activetask INDEXED BY active_by_owner "
    "WHERE leaseOwner IS NULL AND (leaseExpires IS NULL OR leaseExpires <= :now) ORDER BY priority, id LIMIT :limit"
)
NEW_OF_CLASS = (
    "SELECT priority, id FROM worker_activetask INDEXED BY active_new_by_class WHERE leaseOwner IS NULL "
    "AND taskClass = :task_class AND (leaseExpires IS NULL OR leaseExpires <= :now) ORDER BY priority, id LIMIT :limit"
)
DUE = (
    "SELECT leaseExpires, id FROM worker_activetask INDEXED BY active_due "
    "WHERE leaseOwner IS NOT NULL AND leaseExpires < :now ORDER BY leaseExpires, id LIMIT :limit"
)
DUE_OF_CLASS = (
    "SELECT leaseExpires, id FROM worker_activetask INDEXED BY active_due_by_class WHERE leaseOwner IS NOT NULL "
    "AND taskClass = :task_class AND leaseExpires < :now ORDER BY leaseExpires, id LIMIT :limit"
)
_LEASE = "UPDATE worker_activetask SET leaseOwner = ?, leaseExpires = ?, dateModified = ? WHERE id = ?"


class _Chosen(NamedTuple):
    new: list[int]
    due: list[int]


def lease(connection: sqlite3.Connection, now: int, wanted: StoreLease, *, due_first: bool) -> list[Task]:
    """Leases tasks to a checked owner and returns them with data, new ones first."""
    expires = min(now + wanted.duration, MAX_UNSIGNED)
    known = {"lease_owner": wanted.owner, "lease_expires": expires, "date_modified": now}
    set_aside = 0
    while True:
        chosen = _choose(connection, now, wanted, due_first=due_first)
        tasks, broken = _read(connection, chosen.due + chosen.new if due_first else chosen.new + chosen.due, known)
        _set_aside(connection, now, broken)
        set_aside += len(broken)
        if not broken or set_aside >= MAX_BROKEN:
            break
    connection.executemany(_LEASE, [(wanted.owner, expires, now, task_id) for task_id in tasks])
    return [tasks[task_id] for task_id in (*chosen.new, *chosen.due) if task_id in tasks]


def _choose(connection: sqlite3.Connection, now: int, wanted: StoreLease, *, due_first: bool) -> _Chosen:
    limit = min(wanted.limit, MAX_INTEGER)
    values = {"now": now, "limit": limit}
    named = named_classes(connection, wanted.classes)
    new = _first(connection, (NEW, NEW_OF_CLASS), named, values)
    due = _first(connection, (DUE, DUE_OF_CLASS), named, values)
    return _Chosen(*share(new, due, limit, due_first=due_first))


def _first(
    connection: sqlite3.Connection,
    statements: tuple[str, str],
    task_classes: Iterable[str] | None,
    values: dict[str, Any],
) -> list[int]:
    """The ids of the first rows of all classes (None), or of the named ones."""
    of_any, of_class = statements
    if task_classes is None:
        return [task_id for _, task_id in connection.execute(of_any, values)]

    def rows() -> Iterator[tuple[Any, int]]:
        for task_class in task_classes:
            yield from connection.execute(of_class, values | {"task_class": task_class})

    return [task_id for _, task_id in heapq.nsmallest(values["limit"], rows(), key=_order)]


def _order(row: tuple[Any, int]) -> tuple[bool, Any, int]:
    """As SQLite sorts: a broken row's text after all numbers."""
    value, task_id = row
    is_number = isinstance(value, int | float)
    return (not is_number, value if is_number else 0, task_id)


def _read(
    connection: sqlite3.Connection, ids: list[int], known: dict[str, Any]
) -> tuple[dict[int, Task], dict[int, str]]:
    """Tasks by id, as they will be once leased; and what is wrong with the rows that are none."""
    tasks: dict[int, Task] = {}
    broken: dict[int, str] = {}
    characters = 0
    for task_id in ids:
        if (reading := find_with_data(connection, task_id, **known)) is None:
            continue
        if reading.problems:
            broken[task_id] = "; ".join(reading.problems)
            continue
        characters += len(reading.task.data)
        if tasks and characters > LEASE_CHARACTERS:
            break
        tasks[task_id] = reading.task
    return tasks, broken


def _set_aside(connection: sqlite3.Connection, now: int, broken: dict[int, str]) -> None:
    """Keeps broken rows away from leases for BROKEN_REST. They stay active: only an operator removes a task."""
    until = min(now + BROKEN_REST, MAX_UNSIGNED)
    for task_id, reason in broken.items():
        connection.execute(_LEASE, (BROKEN_OWNER, until, now, task_id))
        log.warning("a broken row is set aside: repair or cancel it", task=task_id, reason=reason, seconds=BROKEN_REST)
