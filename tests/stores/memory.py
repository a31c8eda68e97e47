"""The queue's rules in their simplest form: a store in memory, which real stores are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.model import ArchivedTask, ArchiveResult, Lease, NewTask, Priority, Task, Verdict
from gorge_worker.queues.checks import check_event_id, check_new_task, check_owner
from gorge_worker.queues.protocol import ClassFilter, Receipt, Report, ReportResult
from gorge_worker.queues.store import (
    MAX_UNSIGNED,
    BadTask,
    EventConflict,
    NoSuchTask,
    Renewed,
    StoreError,
    StoreLease,
    StoreStats,
)

LOST = ReportResult(Receipt.LEASE_LOST)
ACCEPTED = ReportResult(Receipt.ACCEPTED)
ARCHIVES = {Verdict.SUCCESS: ArchiveResult.SUCCESS, Verdict.PERMANENT_FAILURE: ArchiveResult.FAILURE}


class MemoryStore:
    """TaskStore without a file. `trouble` makes every call raise StoreError; `lease_calls` counts leases."""

    shared = False

    def __init__(self, clock: Clock, retry_wait: int = 300) -> None:
        self.clock = clock
        self.retry_wait = retry_wait
        self.active: dict[int, Task] = {}
        self.archive: dict[int, ArchivedTask] = {}
        self.events: dict[str, tuple[NewTask, Task]] = {}
        self.last_id = 0
        self.turns: Counter[ClassFilter] = Counter()
        self.trouble = False
        self.lease_calls = 0

    @property
    def now(self) -> int:
        if self.trouble:
            raise StoreError("the disk is full")
        return int(self.clock.wall())

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        for task in tasks:
            check_new_task(task)
        return [self._add(task, Priority.DEFAULT) for task in tasks]

    def _add(self, new: NewTask, priority: int) -> Task:
        self.last_id += 1
        delayed = new.delay_until is not None and new.delay_until > self.now
        task = Task(
            id=self.last_id,
            task_class=new.task_class,
            lease_owner="(delay)" if delayed else None,
            lease_expires=new.delay_until if delayed else None,
            data_id=self.last_id,
            priority=priority if new.priority is None else new.priority,
            object_phid=new.object_phid or None,
            container_phid=new.container_phid or None,
            date_created=self.now,
            date_modified=self.now,
            data=new.data,
        )
        self.active[task.id] = task
        return bare(task)

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        check_event_id(event_id)
        check_new_task(task)
        first, added = self.events.get(event_id) or (task, self._add(task, Priority.DEFAULT))
        if first != task:
            raise EventConflict(event_id)
        self.events[event_id] = (task, added)
        return added

    async def supports_events(self) -> bool:
        return True

    async def lease(self, wanted: StoreLease) -> list[Task]:
        self.lease_calls += 1
        check_owner(wanted.owner)
        now = self.now
        matching = [one for one in self.active.values() if wanted.classes.wants(one.task_class)]
        new = [one for one in matching if is_new(one, now)]
        due = [one for one in matching if is_due(one, now)]
        new.sort(key=lambda one: (one.priority, one.id))
        due.sort(key=lambda one: (one.lease_expires, one.id))
        self.turns[wanted.classes] += 1
        reserved = (wanted.limit + 3) // 4
        if wanted.limit == 1 and self.turns[wanted.classes] % 4:
            reserved = 0
        places_due = min(len(due), max(reserved, wanted.limit - len(new)))
        chosen = new[: wanted.limit - places_due] + due[:places_due]
        expires = min(now + wanted.duration, MAX_UNSIGNED)
        return [self._change(one, lease_owner=wanted.owner, lease_expires=expires) for one in chosen]

    async def next_due(self, classes: ClassFilter) -> int | None:
        now = self.now
        matching = [one for one in self.active.values() if classes.wants(one.task_class)]
        if any(is_new(one, now) for one in matching):
            return now
        return min((max((one.lease_expires or 0) + 1, now) for one in matching), default=None)

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        return [self._renew(lease, duration) for lease in leases]

    def _renew(self, lease: Lease, duration: int) -> Renewed:
        task = self.active.get(lease.task.id)
        if task is None or not self._holds(task, lease):
            return Renewed(None, "lost")
        expires = max(lease.expires, min(self.now + duration, MAX_UNSIGNED))
        return Renewed(bare(self._change(task, lease_expires=expires)))

    def _holds(self, task: Task, lease: Lease) -> bool:
        return (task.lease_owner, task.lease_expires) == (lease.owner, lease.expires) and lease.expires >= self.now

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        return [self._report(one) for one in reports]

    def _report(self, report: Report) -> ReportResult:
        lease, outcome = report.lease, report.outcome
        task = self.active.get(lease.task.id)
        if task is None:
            done = self.archive.get(lease.task.id)
            repeated = done is not None and done.result == ARCHIVES.get(outcome.verdict)
            same = done is not None and (done.task.lease_owner, done.task.lease_expires) == (lease.owner, lease.expires)
            return ACCEPTED if repeated and same else LOST
        if not self._holds(task, lease):
            return LOST
        try:
            for followup in outcome.followups:
                check_new_task(followup)
        except BadTask as bad:
            return ReportResult(Receipt.REFUSED, str(bad))
        if outcome.verdict in ARCHIVES:
            success = outcome.verdict is Verdict.SUCCESS
            self._archive(task, ARCHIVES[outcome.verdict], report.duration if success else 0)
            for followup in outcome.followups if success else ():
                self._add(followup, task.priority)
        elif outcome.verdict is Verdict.TEMPORARY_FAILURE:
            self._fail(task, outcome.wait)
        elif outcome.verdict is Verdict.RELEASE and not outcome.wait:
            self._change(task, lease_owner=None, lease_expires=None)
        else:
            self._yield(task, outcome.wait or 0)
        return ACCEPTED

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        return self._archive(self._find(task_id), ArchiveResult.SUCCESS, duration)

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        task = self._find(task_id)
        if permanent:
            self._archive(task, ArchiveResult.FAILURE, 0)
        else:
            self._fail(task, retry_wait)

    async def yield_task(self, task_id: int, seconds: int) -> None:
        self._yield(self._find(task_id), seconds)

    async def release(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            held = self.active.get(task.id)
            if held and (held.lease_owner, held.lease_expires) == (task.lease_owner, task.lease_expires):
                self._change(held, lease_owner=None, lease_expires=None)

    async def cancel(self, task_id: int) -> ArchivedTask:
        return self._archive(self._find(task_id), ArchiveResult.CANCELLED, 0)

    async def awaken(self, task_ids: Sequence[int]) -> int:
        past = self.now - 3600
        sleeping = [
            task
            for task in (self.active.get(task_id) for task_id in set(task_ids))
            if task and task.lease_owner == "(yield)" and not task.failure_count and (task.lease_expires or 0) > past
        ]
        for task in sleeping:
            self._change(task, lease_expires=past)
        return len(sleeping)

    async def stats(self) -> StoreStats:
        now, tasks = self.now, self.active.values()
        return StoreStats(
            active=len(tasks),
            leased=sum(one.lease_owner is not None and (one.lease_expires or 0) >= now for one in tasks),
            archived=len(self.archive),
            failed=sum(one.failure_count > 0 for one in tasks),
        )

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        shown = [bare(one) for one in self.active.values() if owner is None or one.lease_owner == owner]
        return sorted(shown, key=lambda one: (one.priority, one.id))[max(offset, 0) :][: max(limit, 0)]

    async def task(self, task_id: int) -> Task:
        return self._find(task_id)

    async def close(self) -> None:
        self.trouble = True

    def _find(self, task_id: int) -> Task:
        if task_id not in self.active:
            raise NoSuchTask(task_id)
        return self.active[task_id]

    def _change(self, task: Task, **fields: Any) -> Task:
        changed = self.active[task.id] = msgspec.structs.replace(task, date_modified=self.now, **fields)
        return changed

    def _archive(self, task: Task, result: ArchiveResult, duration: int) -> ArchivedTask:
        del self.active[task.id]
        left = msgspec.structs.replace(bare(task), failure_time=None, date_modified=self.now)
        done = ArchivedTask(task=left, result=result, duration=duration, archived_epoch=self.now)
        self.archive[task.id] = done
        return done

    def _fail(self, task: Task, wait: int | None) -> None:
        until = min(self.now + (self.retry_wait if wait is None else wait), MAX_UNSIGNED)
        failures = task.failure_count + 1
        self._change(task, lease_owner="(retry)", lease_expires=until, failure_count=failures, failure_time=self.now)

    def _yield(self, task: Task, seconds: int) -> None:
        self._change(task, lease_owner="(yield)", lease_expires=min(self.now + max(seconds, 5), MAX_UNSIGNED))


def bare(task: Task) -> Task:
    return msgspec.structs.replace(task, data="")


def is_new(task: Task, now: int) -> bool:
    return task.lease_owner is None and (task.lease_expires is None or task.lease_expires <= now)


def is_due(task: Task, now: int) -> bool:
    return task.lease_owner is not None and task.lease_expires is not None and task.lease_expires < now
