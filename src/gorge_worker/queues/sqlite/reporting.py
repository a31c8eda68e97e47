"""Reports: outcomes that count only under the lease they were reached under."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gorge_worker.model import ArchiveResult, Lease, Outcome, Task, Verdict
from gorge_worker.queues.checks import check_new_task
from gorge_worker.queues.protocol import Receipt, Report, ReportResult
from gorge_worker.queues.sqlite import outcomes, rows
from gorge_worker.queues.sqlite.connection import savepoint
from gorge_worker.queues.sqlite.enqueueing import enqueue
from gorge_worker.queues.store import BadTask

_ARCHIVED_UNDER = "SELECT 1 FROM worker_archivetask WHERE id = ? AND leaseOwner = ? AND leaseExpires = ? AND result = ?"
_ARCHIVES = {Verdict.SUCCESS: ArchiveResult.SUCCESS, Verdict.PERMANENT_FAILURE: ArchiveResult.FAILURE}


def report(connection: sqlite3.Connection, now: int, reports: Sequence[Report], retry_wait: int) -> list[ReportResult]:
    """Applies each report apart: one that can't be applied changes nothing and harms no other.

    `retry_wait` (seconds) is for temporary failures that name no wait of their own.
    """
    return [_apply_apart(connection, now, one, retry_wait) for one in reports]


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
    task = rows.find(connection, lease.task.id)
    if task is None:
        if _is_repeated(connection, lease, report.outcome):
            return ReportResult(Receipt.ACCEPTED)
        return ReportResult(Receipt.LEASE_LOST, "there is no such active task")
    if (task.lease_owner, task.lease_expires) != (lease.owner, lease.expires):
        return ReportResult(Receipt.LEASE_LOST, f"the lease is now {task.lease_owner or 'nobody'}'s")
    if lease.expires < now:
        return ReportResult(Receipt.LEASE_LOST, f"the lease ran out {now - lease.expires} s ago")
    _carry_out(connection, now, task, report, retry_wait)
    return ReportResult(Receipt.ACCEPTED)


def _carry_out(connection: sqlite3.Connection, now: int, task: Task, report: Report, retry_wait: int) -> None:
    outcome = report.outcome
    match outcome.verdict:
        case Verdict.SUCCESS:
            for followup in outcome.followups:
                check_new_task(followup)
            outcomes.archive(connection, now, task, ArchiveResult.SUCCESS, report.duration)
            enqueue(connection, now, outcome.followups, priority=task.priority)
        case Verdict.PERMANENT_FAILURE:
            outcomes.archive(connection, now, task, ArchiveResult.FAILURE)
        case Verdict.TEMPORARY_FAILURE:
            outcomes.fail(connection, now, task.id, retry_wait if outcome.wait is None else outcome.wait)
        case Verdict.RELEASE if not outcome.wait:
            outcomes.release(connection, now, [task])
        case Verdict.YIELD | Verdict.RELEASE:
            outcomes.yield_task(connection, now, task.id, outcome.wait or 0)


def _is_repeated(connection: sqlite3.Connection, lease: Lease, outcome: Outcome) -> bool:
    """True when this very outcome was accepted under this very lease before: only its answer was lost."""
    result = _ARCHIVES.get(outcome.verdict)
    if result is None or not (rows.is_integer(lease.task.id) and rows.is_integer(lease.expires)):
        return False
    identity = (lease.task.id, lease.owner, lease.expires, result)
    return connection.execute(_ARCHIVED_UNDER, identity).fetchone() is not None
