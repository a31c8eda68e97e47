"""Leasing: select, lock, update, in one short transaction, for one caller or for several at once.

The tasks are the first in both lines (see `candidates`); what somebody else takes in between is not leased. Classes are
filtered before anything is leased.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
import structlog

from gorge_worker.model import Task
from gorge_worker.queues import rows
from gorge_worker.queues.mysql.candidates import find_due, find_new
from gorge_worker.queues.mysql.rows import read_whole
from gorge_worker.queues.mysql.seen import SeenByFilter
from gorge_worker.queues.mysql.session import Session, marks
from gorge_worker.queues.rows import BROKEN_OWNER, BROKEN_REST
from gorge_worker.queues.store import MAX_UNSIGNED, StoreLease
from gorge_worker.queues.turns import share

log = structlog.get_logger()

ROUNDS = 4
"""So often a lease looks for other tasks when some were taken by somebody else, or are broken."""
MOST = 10_000
"""Tasks that one transaction leases."""
LARGE = 256 * 1024
"""Bytes of data beyond which a task's data is read by itself."""
LEASE_BYTES = 16 * 1024 * 1024
"""After so much data no further task is added to a lease: a few hundred huge ones must not fill anybody's memory."""

DATA_ID = 5
"""Where a row has its dataID."""
_LOCK = (
    f"SELECT {rows.NAMES}, IF(OCTET_LENGTH(d.data) > {{large}}, NULL, d.data), OCTET_LENGTH(d.data) "  # noqa: S608 -- the table's own columns
    "FROM worker_activetask AS t LEFT JOIN worker_taskdata AS d ON d.id = t.dataID WHERE t.id IN ({ids}) AND "
    "(t.leaseOwner IS NULL AND (t.leaseExpires IS NULL OR t.leaseExpires <= %s) OR t.leaseExpires < %s) FOR UPDATE"
)
_DATA = "SELECT data FROM worker_taskdata WHERE id = %s"
_LEASE = (
    "UPDATE worker_activetask SET leaseOwner = CASE id {owners} END, leaseExpires = %s, dateModified = %s "
    "WHERE id IN ({ids})"
)
_SET_ASIDE = "UPDATE worker_activetask SET leaseOwner = %s, leaseExpires = %s, dateModified = %s WHERE id IN ({ids})"


class Granted(NamedTuple):
    """What each call gets, in order; `more` when nobody gets anything although there are rows not looked at."""

    tasks: list[list[Task]]
    more: bool


def lease(session: Session, calls: Sequence[StoreLease], seen: SeenByFilter, *, due_first: bool) -> Granted:
    """Leases for several calls that want the same classes for the same time, new tasks first."""
    owners = (number for number, call in enumerate(calls) for _ in range(min(call.limit, MOST)))
    given: list[list[Task]] = [[] for _ in calls]
    left, budget, more = min(sum(call.limit for call in calls), MOST), LEASE_BYTES, False
    for _ in range(ROUNDS):
        new, due = (find(session, calls[0].classes, left, seen) for find in (find_new, find_due))
        more = new.more or due.more
        ids = _in_order(new.ids, due.ids, left, due_first=due_first)
        tasks, broken, budget = _lock(session, ids, budget)
        holders = list(islice(owners, len(tasks)))
        for number, task in zip(holders, _take(session, tasks, [calls[one] for one in holders]), strict=True):
            given[number].append(task)
        _set_aside(session, broken)
        left -= len(tasks)
        if len(tasks) == len(ids) or budget <= 0:
            break
    return Granted(given, more and not any(given))


def _in_order(new: list[int], due: list[int], limit: int, *, due_first: bool) -> list[int]:
    known = set(new)
    new, due = share(new, [task_id for task_id in due if task_id not in known], limit, due_first=due_first)
    return due + new if due_first else new + due


def _lock(session: Session, ids: Sequence[int], budget: int) -> tuple[list[Task], dict[int, str], int]:
    """The tasks of these ids that can still be leased, in order, now locked; what is wrong with those that are none;
    and how many bytes of data there is room for after them.
    """
    if not ids:
        return [], {}, budget
    large = min(LARGE, LEASE_BYTES // len(ids))
    statement = _LOCK.format(large=large, ids=marks(len(ids)))
    locked = {row[0]: row for row in session.rows(statement, (*ids, session.now, session.now))}
    tasks: list[Task] = []
    broken: dict[int, str] = {}
    for task_id in filter(locked.__contains__, ids):
        *row, size = locked[task_id]
        if tasks and (size or 0) > budget:
            budget = 0
            break
        budget -= size or 0
        if size and size > large:
            [row[-1:]] = session.rows(_DATA, (row[DATA_ID],)) or [(None,)]
        reading = read_whole(tuple(row))
        if reading.problems:
            broken[task_id] = "; ".join(reading.problems)
        else:
            tasks.append(reading.task)
    return tasks, broken, budget


def _take(session: Session, tasks: Sequence[Task], calls: Sequence[StoreLease]) -> list[Task]:
    """Leases each task to the owner of its call, and returns the tasks as they are now."""
    if not tasks:
        return []
    expires = min(session.now + calls[0].duration, MAX_UNSIGNED)
    owners = [value for task, call in zip(tasks, calls, strict=True) for value in (task.id, call.owner)]
    statement = _LEASE.format(owners="WHEN %s THEN %s " * len(tasks), ids=marks(len(tasks)))
    session.change(statement, (*owners, expires, session.now, *[task.id for task in tasks]))
    return [
        msgspec.structs.replace(task, lease_owner=call.owner, lease_expires=expires, date_modified=session.now)
        for task, call in zip(tasks, calls, strict=True)
    ]


def _set_aside(session: Session, broken: dict[int, str]) -> None:
    """Keeps broken rows away from leases for BROKEN_REST. They stay active: only an operator removes a task."""
    if not broken:
        return
    until = min(session.now + BROKEN_REST, MAX_UNSIGNED)
    session.change(_SET_ASIDE.format(ids=marks(len(broken))), (BROKEN_OWNER, until, session.now, *broken))
    for task_id, reason in broken.items():
        log.warning("a broken row is set aside: repair or cancel it", task=task_id, reason=reason, seconds=BROKEN_REST)
