"""Making changes: lock the rows, judge each change, then write what is alike with one statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from gorge_worker.model import Task
from gorge_worker.queues.mysql.changes import RESULTS, Action, Change, Fate
from gorge_worker.queues.mysql.enqueueing import insert
from gorge_worker.queues.mysql.rows import WITHOUT_DATA, by_id, read, text
from gorge_worker.queues.mysql.session import Session, marks
from gorge_worker.queues.store import MAX_UNSIGNED, RETRY_OWNER, YIELD_OWNER

MAX_DURATION = 2**63 - 1
"""Microseconds; beyond what any column or client counts."""

_ARCHIVED = "SELECT id, leaseOwner, leaseExpires, result FROM worker_archivetask WHERE id IN ({ids})"
_ARCHIVE = (
    "INSERT INTO worker_archivetask (id, taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority, "
    "objectPHID, containerPHID, dateCreated, dateModified, result, duration, archivedEpoch) "
    "SELECT id, taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority, objectPHID, containerPHID, "
    "dateCreated, %s, %s, CASE id {durations} END, %s FROM worker_activetask WHERE id IN ({ids})"
)
_DELETE = "DELETE FROM worker_activetask WHERE id IN ({ids})"
_RETRY = (
    "UPDATE worker_activetask SET leaseOwner = %s, leaseExpires = %s, failureTime = %s, dateModified = %s, "
    "failureCount = LEAST(failureCount + 1, 4294967295) WHERE id IN ({ids})"
)
_PUT_BACK = "UPDATE worker_activetask SET leaseOwner = %s, leaseExpires = %s, dateModified = %s WHERE id IN ({ids})"
_RENEW = "UPDATE worker_activetask SET leaseExpires = %s, dateModified = %s WHERE id IN ({ids})"


def carry_out(session: Session, changes: Sequence[Change], followup_ids: Sequence[int]) -> list[Fate]:
    """Makes the changes, one for a task at most; `followup_ids` are enough ids for all their follow-ups."""
    found = {row[0]: read(row).task for row in by_id(session, WITHOUT_DATA, _ids(changes), "FOR UPDATE")}
    archived = _archived(session, [change for change in changes if change.task_id not in found])
    fates: list[Fate] = []
    agreed: list[tuple[Change, Task]] = []
    for change in changes:
        task = found.get(change.task_id)
        if task is None:
            fates.append(Fate(None, "there is no such active task", known=change.task_id in archived, missing=True))
        elif objection := _objection(change, task, session.now):
            fates.append(Fate(None, objection))
        else:
            after = _after(change, task, session.now)
            fates.append(Fate(after))
            agreed.append((change, after))
    followups = [
        msgspec.structs.replace(one, priority=parent.priority) if one.priority is None else one
        for change, parent in agreed
        for one in change.followups
    ]
    insert(session, followup_ids[: len(followups)], followups)
    _write(session, agreed)
    return fates


def _ids(changes: Sequence[Change]) -> Iterator[int]:
    return (change.task_id for change in changes if 0 < change.task_id <= MAX_UNSIGNED)


def _archived(session: Session, missing: Sequence[Change]) -> set[int]:
    """The tasks whose changes were made before under the same lease: only their answers were lost."""
    ids = [change.task_id for change in missing if change.action in RESULTS and change.holder is not None]
    ids = [task_id for task_id in ids if 0 < task_id <= MAX_UNSIGNED]
    if not ids:
        return set()
    archived = {row[0]: tuple(map(text, row[1:])) for row in session.rows(_ARCHIVED.format(ids=marks(len(ids))), ids)}
    return {
        change.task_id
        for change in missing
        if change.holder
        and archived.get(change.task_id) == (change.holder.owner, change.holder.expires, RESULTS.get(change.action))
    }


def _objection(change: Change, task: Task, now: int) -> str:
    """Why the change must not be made; empty when it may."""
    holder = change.holder
    if holder is None:
        return ""
    if task.lease_owner != holder.owner:
        return f"the lease is now {task.lease_owner or 'nobody'}'s"
    if task.lease_expires != holder.expires:
        return "the lease's expiry was changed"
    if holder.expires < now and not change.even_late:
        return f"the lease ran out {now - holder.expires} s ago"
    return ""


def _after(change: Change, task: Task, now: int) -> Task:
    """The task as it is after the change."""
    until = min(now + max(change.seconds, 0), MAX_UNSIGNED)
    fields: dict[str, str | int | None]
    match change.action:
        case Action.RETRY:
            failures = min(task.failure_count + 1, MAX_UNSIGNED)
            fields = {
                "lease_owner": RETRY_OWNER,
                "lease_expires": until,
                "failure_count": failures,
                "failure_time": now,
            }
        case Action.YIELD:
            fields = {"lease_owner": YIELD_OWNER, "lease_expires": until}
        case Action.RELEASE:
            fields = {"lease_owner": None, "lease_expires": None}
        case Action.RENEW:
            fields = {"lease_expires": max(task.lease_expires or 0, until)}
        case Action.SUCCEED | Action.FAIL | Action.CANCEL:
            fields = {"failure_time": None}
    return msgspec.structs.replace(task, date_modified=now, **fields)


def _write(session: Session, agreed: Sequence[tuple[Change, Task]]) -> None:
    alike: dict[tuple[object, ...], list[tuple[Change, Task]]] = defaultdict(list)
    for change, task in agreed:
        ends = change.action in RESULTS
        alike[change.action, *(() if ends else (task.lease_owner, task.lease_expires))].append((change, task))
    for group in alike.values():
        action, task = group[0][0].action, group[0][1]
        ids = [one.id for _, one in group]
        marked, now = marks(len(ids)), session.now
        if action in RESULTS:
            durations = "WHEN %s THEN %s " * len(ids)
            known = chain.from_iterable((one.task_id, min(max(one.duration, 0), MAX_DURATION)) for one, _ in group)
            statement = _ARCHIVE.format(durations=durations, ids=marked)
            session.change(statement, (now, int(RESULTS[action]), *known, now, *ids))
            session.change(_DELETE.format(ids=marked), ids)
        elif action is Action.RETRY:
            values = (task.lease_owner, task.lease_expires, now, now, *ids)
            session.change(_RETRY.format(ids=marked), values)
        elif action is Action.RENEW:
            session.change(_RENEW.format(ids=marked), (task.lease_expires, now, *ids))
        else:
            session.change(_PUT_BACK.format(ids=marked), (task.lease_owner, task.lease_expires, now, *ids))
