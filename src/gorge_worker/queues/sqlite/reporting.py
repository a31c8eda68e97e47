"""Reports and renewals: what counts only under the lease that it was reached under."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gorge_worker.model import ArchiveResult, Lease, NewTask, Outcome, Priority, Verdict
from gorge_worker.queues.checks import check_new_task
from gorge_worker.queues.protocol import Receipt, Report, ReportResult
from gorge_worker.queues.rows import is_unsigned
from gorge_worker.queues.sqlite import outcomes, rows
from gorge_worker.queues.sqlite.connection import savepoint
from gorge_worker.queues.sqlite.enqueueing import enqueue
from gorge_worker.queues.store import MAX_UNSIGNED, BadTask, Renewed

_HOLDER = "SELECT leaseOwner, leaseExpires FROM worker_activetask WHERE id = ?"
_RENEW = "UPDATE worker_activetask SET leaseExpires = ?, dateModified = ? WHERE id = ?"
_PRIORITY = "SELECT priority FROM worker_activetask WHERE id = ?"
_ARCHIVED_UNDER = "SELECT 1 FROM worker_archivetask WHERE id = ? AND leaseOwner = ? AND leaseExpires = ? AND result = ?"
_ARCHIVES = {Verdict.SUCCESS: ArchiveResult.SUCCESS, Verdict.PERMANENT_FAILURE: ArchiveResult.FAILURE}


def report(connection: sqlite3.Connection, now: int, reports: Sequence[Report], retry_wait: int) -> list[ReportResult]:
    """Applies each report apart: one that can't be applied changes nothing and harms no other.

    `retry_wait` (seconds) is for temporary failures that name no wait of their own.
    """
    return [_apply_apart(connection, now, one, retry_wait) for one in reports]


def renew(connection: sqlite3.Connection, now: int, leases: Sequence[Lease], duration: int) -> list[Renewed]:
    """Moves the ends of leases to `duration` seconds from now, never backwards, each that still holds."""
    return [_renew(connection, now, lease, duration) for lease in leases]


def _renew(connection: sqlite3.Connection, now: int, lease: Lease, duration: int) -> Renewed:
    if objection := _objection(connection, now, lease):
        return Renewed(None, objection)
    expires = max(lease.expires, min(now + duration, MAX_UNSIGNED))
    connection.execute(_RENEW, (expires, now, lease.task.id))
    return Renewed(rows.find(connection, lease.task.id))


def _apply_apart(connection: sqlite3.Connection, now: int, report: Report, retry_wait: int) -> ReportResult:
    try:
        with savepoint(connection):
            return _apply(connection, now, report, retry_wait)
    except BadTask as bad:
        return ReportResult(Receipt.REFUSED, f"follow-up: {bad}")
    except sqlite3.Error as error:
        if not connection.in_transaction:
            raise
        return ReportResult(Receipt.TROUBLE, f"the report can't be written: {error}")


def _apply(connection: sqlite3.Connection, now: int, report: Report, retry_wait: int) -> ReportResult:
    lease = report.lease
    if objection := _objection(connection, now, lease):
        if _is_repeated(connection, lease, report.outcome):
            return ReportResult(Receipt.ACCEPTED)
        return ReportResult(Receipt.LEASE_LOST, objection)
    _carry_out(connection, now, report, retry_wait)
    return ReportResult(Receipt.ACCEPTED)


def _objection(connection: sqlite3.Connection, now: int, lease: Lease) -> str:
    """Why nothing may be changed under the lease; empty when it holds."""
    known = rows.is_integer(lease.task.id) and rows.is_integer(lease.expires)
    holder = connection.execute(_HOLDER, (lease.task.id,)).fetchone() if known else None
    if holder is None:
        return "there is no such active task"
    if holder[0] != lease.owner:
        return f"the lease is now {holder[0] or 'nobody'}'s"
    if holder[1] != lease.expires:
        return "the lease's expiry was changed"
    if lease.expires < now:
        return f"the lease ran out {now - lease.expires} s ago"
    return ""


def _carry_out(connection: sqlite3.Connection, now: int, report: Report, retry_wait: int) -> None:
    lease, outcome = report.lease, report.outcome
    task_id = lease.task.id
    match outcome.verdict:
        case Verdict.SUCCESS:
            _enqueue_followups(connection, now, task_id, outcome.followups)
            outcomes.archive(connection, now, task_id, ArchiveResult.SUCCESS, report.duration)
        case Verdict.PERMANENT_FAILURE:
            outcomes.archive(connection, now, task_id, ArchiveResult.FAILURE)
        case Verdict.TEMPORARY_FAILURE:
            outcomes.fail(connection, now, task_id, retry_wait if outcome.wait is None else outcome.wait)
        case Verdict.RELEASE if not outcome.wait:
            outcomes.release(connection, now, [(task_id, lease.owner, lease.expires)])
        case Verdict.YIELD | Verdict.RELEASE:
            outcomes.yield_task(connection, now, task_id, outcome.wait or 0)


def _enqueue_followups(connection: sqlite3.Connection, now: int, parent_id: int, followups: Sequence[NewTask]) -> None:
    if not followups:
        return
    for followup in followups:
        check_new_task(followup)
    [priority] = connection.execute(_PRIORITY, (parent_id,)).fetchone()
    # Not the parent's where another program has written nonsense into it: its children need not suffer.
    enqueue(connection, now, followups, priority if is_unsigned(priority) else Priority.DEFAULT)


def _is_repeated(connection: sqlite3.Connection, lease: Lease, outcome: Outcome) -> bool:
    """True when this very outcome was accepted under this very lease before: only its answer was lost."""
    result = _ARCHIVES.get(outcome.verdict)
    if result is None or not (rows.is_integer(lease.task.id) and rows.is_integer(lease.expires)):
        return False
    identity = (lease.task.id, lease.owner, lease.expires, result)
    return connection.execute(_ARCHIVED_UNDER, identity).fetchone() is not None
