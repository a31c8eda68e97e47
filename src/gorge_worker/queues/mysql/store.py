"""The store on MySQL or MariaDB, on Phorge's own tables or on tables of the product's own."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Sequence

from gorge_worker.model import ArchivedTask, Lease, NewTask, Task
from gorge_worker.queues.checks import check_event_id, check_new_task, check_owner, storable_filter
from gorge_worker.queues.mysql import awakening, garbage, reading, schema
from gorge_worker.queues.mysql.changer import Changer
from gorge_worker.queues.mysql.changes import RESULTS, Action, Change, Fate, Holder, of_outcome, release
from gorge_worker.queues.mysql.connecting import Connect, connector
from gorge_worker.queues.mysql.database import Database
from gorge_worker.queues.mysql.enqueuer import Enqueuer, bad_task
from gorge_worker.queues.mysql.leases import Leases
from gorge_worker.queues.mysql.seen import SeenByFilter
from gorge_worker.queues.mysql.session import Session
from gorge_worker.queues.mysql.trouble import DoesNotFit
from gorge_worker.queues.mysql.url import MysqlAddress
from gorge_worker.queues.protocol import ClassFilter, Receipt, Report, ReportResult
from gorge_worker.queues.retention import PAUSE
from gorge_worker.queues.store import (
    MIN_YIELD,
    BadTask,
    NoSuchTask,
    NotSupported,
    Renewed,
    StoreError,
    StoreLease,
    StoreStats,
)

CLOSE_LIMIT = 1.0
"""Seconds: a database that hangs must not keep a process beyond a container's stop timeout."""


class MysqlStore:
    """Keeps tasks in a database (see TaskStore). All times are the database server's.

    Opening it connects to nothing: while the database is away every call raises StoreError, and it is connected to
    again by itself. What several callers want at the same time shares transactions. A caller that is cancelled after
    its call has begun has its write done all the same. Belongs to the event loop that it was made in.
    """

    shared = True

    def __init__(
        self, connect: Connect, where: str, *, retry_wait: int, rng: random.Random, create_schema: bool = False
    ) -> None:
        self._create_schema = create_schema
        self._retry_wait = retry_wait
        self._is_own = False
        self._seen = SeenByFilter()
        self._database = Database(connect, where, rng=rng, prepare=self._prepare)
        self._enqueuer = Enqueuer(self._database)
        self._changer = Changer(self._database, self._enqueuer)
        self._leases = Leases(self._database, self._changer, self._seen)
        self._collector = asyncio.create_task(self._collect_garbage())

    @classmethod
    async def open(
        cls, address: MysqlAddress, *, retry_wait: int, rng: random.Random, create_schema: bool = False
    ) -> MysqlStore:
        """`retry_wait` (seconds) is a temporary failure's wait where none is named; `create_schema` creates the tables
        in a database that is empty. Never fails because the database is away.
        """
        return cls(connector(address), address.shown, retry_wait=retry_wait, rng=rng, create_schema=create_schema)

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        for task in tasks:
            check_new_task(task)
        return await self._enqueuer.add(tasks)

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        check_event_id(event_id)
        check_new_task(task)
        if not await self.supports_events():
            raise NotSupported("events need a table of their own, which Phorge's database does not have")
        return await self._enqueuer.add_once(event_id, task)

    async def supports_events(self) -> bool:
        """True in a database of the product's own. Raises StoreError while that can't be seen."""
        return await self._database.read(lambda _: self._is_own)

    async def lease(self, wanted: StoreLease) -> list[Task]:
        """Leases tasks (see TaskStore). Raises BadTask for an owner that no column can hold.

        A row that can't be read as a task is set aside; the others of the lease are not affected.
        """
        check_owner(wanted.owner)
        if (classes := storable_filter(wanted.classes)) is None:
            return []
        return await self._leases.lease(
            StoreLease(owner=wanted.owner, limit=wanted.limit, duration=wanted.duration, classes=classes)
        )

    async def next_due(self, classes: ClassFilter) -> int | None:
        if (storable := storable_filter(classes)) is None:
            return None
        return await self._database.read(lambda session: reading.next_due(session, storable, self._seen))

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        changes = [
            Change(task_id=one.task.id, action=Action.RENEW, holder=Holder(one.owner, one.expires), seconds=duration)
            for one in leases
        ]
        fates = await self._changer.make(changes)
        return [Renewed(fate.task, fate.reason, trouble=fate.trouble is not None) for fate in fates]

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        """Applies outcomes (see TaskStore). One whose follow-ups this database can't hold is refused alone."""
        refused: dict[int, ReportResult] = {}
        changes: list[Change] = []
        for number, one in enumerate(reports):
            try:
                for followup in one.outcome.followups:
                    check_new_task(followup)
            except BadTask as bad:
                refused[number] = ReportResult(Receipt.REFUSED, f"follow-up: {bad}")
            else:
                holder = Holder(one.lease.owner, one.lease.expires)
                changes.append(of_outcome(one.lease.task.id, holder, one.outcome, one.duration, self._retry_wait))
        results = iter(await self._results(changes))
        return [refused.get(number) or next(results) for number in range(len(reports))]

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        return await self._archive(Change(task_id=task_id, action=Action.SUCCEED, duration=duration))

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        if permanent:
            await self._archive(Change(task_id=task_id, action=Action.FAIL))
        else:
            wait = self._retry_wait if retry_wait is None else retry_wait
            await self._change(Change(task_id=task_id, action=Action.RETRY, seconds=wait))

    async def yield_task(self, task_id: int, seconds: int) -> None:
        await self._change(Change(task_id=task_id, action=Action.YIELD, seconds=max(seconds, MIN_YIELD)))

    async def release(self, tasks: Sequence[Task]) -> None:
        await self._changer.make([release(task) for task in tasks])
        self._seen.clear()

    async def cancel(self, task_id: int) -> ArchivedTask:
        return await self._archive(Change(task_id=task_id, action=Action.CANCEL))

    async def awaken(self, task_ids: Sequence[int]) -> int:
        awakened = await self._database.transact(lambda session: awakening.awaken(session, task_ids))
        self._seen.clear()
        return awakened

    async def stats(self) -> StoreStats:
        return await self._database.read(reading.stats)

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        return await self._database.read(lambda session: reading.active_tasks(session, limit, offset, owner))

    async def task(self, task_id: int) -> Task:
        return await self._database.read(lambda session: reading.task(session, task_id))

    async def close(self) -> None:
        """Finishes what has been called, within CLOSE_LIMIT, and closes all connections: afterwards every call raises
        StoreError.
        """
        ends = asyncio.get_running_loop().time() + CLOSE_LIMIT
        self._collector.cancel()
        with contextlib.suppress(StoreError, TimeoutError):  # the database is away: leases in doubt have to run out
            async with asyncio.timeout_at(ends):
                await asyncio.wait((self._collector,))
                for part in (self._enqueuer, self._changer, self._leases):
                    await part.finish()
        await self._database.close(max(ends - asyncio.get_running_loop().time(), 0.0))

    def _prepare(self, session: Session) -> None:
        self._is_own = schema.prepare(session, create=self._create_schema)

    async def _results(self, changes: Sequence[Change]) -> list[ReportResult]:
        fates = await self._changer.make(changes)
        if any(change.action is Action.RELEASE for change in changes):
            self._seen.clear()
        return [_receipt(fate) for fate in fates]

    async def _change(self, change: Change) -> Task:
        [fate] = await self._changer.make([change])
        if fate.trouble is not None:
            raise fate.trouble
        if fate.task is None:
            raise NoSuchTask(change.task_id)
        return fate.task

    async def _archive(self, change: Change) -> ArchivedTask:
        task = await self._change(change)
        return ArchivedTask(
            task=task, result=RESULTS[change.action], duration=change.duration, archived_epoch=task.date_modified
        )

    async def _collect_garbage(self) -> None:
        while True:
            with contextlib.suppress(StoreError):  # it has been logged, and the next hour is as good
                while await self.supports_events() and await self._database.transact(garbage.collect):
                    pass
            await asyncio.sleep(PAUSE)


def _receipt(fate: Fate) -> ReportResult:
    if fate.task is not None or fate.known:
        return ReportResult(Receipt.ACCEPTED)
    if isinstance(fate.trouble, DoesNotFit):
        return ReportResult(Receipt.REFUSED, f"follow-up: {bad_task(fate.trouble)}")
    return ReportResult(Receipt.TROUBLE if fate.trouble else Receipt.LEASE_LOST, fate.reason)
