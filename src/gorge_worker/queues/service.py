"""A store with a long poll: what the queue's HTTP API and an embedded worker talk to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Sequence

import structlog

from gorge_worker.clock import Clock
from gorge_worker.model import ArchivedTask, Lease, NewTask, Task, Verdict
from gorge_worker.queues.protocol import ANY, ClassFilter, Receipt, Report, ReportResult
from gorge_worker.queues.store import Renewed, StoreError, StoreLease, StoreStats, TaskStore
from gorge_worker.queues.waiters import RECHECK, Grant, Waiter, Waiters

log = structlog.get_logger()

MAX_WAIT = 30.0
"""Seconds; the longest that a lease call waits (queue contract)."""
CLOSE_LIMIT = 2.0
"""Seconds that closing waits for leases to be given back."""
_ENDS_FOR_GOOD = (Verdict.SUCCESS, Verdict.PERMANENT_FAILURE)


class QueueService:
    """Everything of TaskStore, and a lease that waits for a task (`lease_duration` in seconds).

    A lease whose caller is cancelled, at whatever moment, strands nothing: what it got is given back.
    """

    def __init__(self, store: TaskStore, *, lease_duration: int, clock: Clock, rng: random.Random) -> None:
        self._store = store
        self.lease_duration = lease_duration
        self.shared = store.shared
        self._clock = clock
        self._returning: set[asyncio.Task[None]] = set()
        self._waiters = Waiters(
            lease=self._lease_now, next_due=store.next_due, unwanted=self.give_back, clock=clock, rng=rng
        )

    async def lease(self, *, owner: str, limit: int, classes: ClassFilter = ANY, wait: float = 0.0) -> list[Task]:
        """Leases at most `limit` tasks of the wanted classes.

        Where there is none it waits for one, `wait` seconds, at most MAX_WAIT. Raises StoreError and BadTask.
        """
        return (await self.grant(owner=owner, limit=limit, classes=classes, wait=wait)).tasks

    async def grant(
        self, *, owner: str, limit: int, classes: ClassFilter = ANY, wait: float = 0.0, duration: int | None = None
    ) -> Grant:
        """As `lease`, and tells when the store was asked: the moment from which to count down what it leased.

        `duration` in seconds, None for the service's own.
        """
        wanted = StoreLease(owner=owner, limit=limit, duration=duration or self.lease_duration, classes=classes)
        attempt = asyncio.create_task(self._lease_now(wanted))
        try:
            grant = await asyncio.shield(attempt)
        except asyncio.CancelledError:
            self._in_background(self._undo(attempt))
            raise
        if grant.tasks or wait <= 0:
            return grant
        return await self._wait_in_line(wanted, min(wait, MAX_WAIT))

    async def settled(self) -> None:
        """Returns when every lease that nobody wanted any more is back in the store, or has run out."""
        while self._returning:
            await asyncio.wait(self._returning)

    async def close(self) -> None:
        """Ends waiting calls with nothing, gives back what they were about to get, and closes the store."""
        await self._waiters.close()
        if self._returning:
            _, late = await asyncio.wait(self._returning, timeout=CLOSE_LIMIT)
            for task in late:
                task.cancel()
        await self._store.close()

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        added = await self._store.enqueue(tasks)
        self._waiters.notify({task.task_class for task in added})
        return added

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        added = await self._store.enqueue_event(event_id, task)
        self._waiters.notify({added.task_class})
        return added

    async def supports_events(self) -> bool:
        return await self._store.supports_events()

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        return await self._store.renew(leases, duration)

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        results = await self._store.report(reports)
        for report, result in zip(reports, results, strict=True):
            if result.receipt is not Receipt.ACCEPTED:
                continue
            if report.outcome.verdict not in _ENDS_FOR_GOOD:
                self._waiters.notify()
            elif report.outcome.followups:
                self._waiters.notify({task.task_class for task in report.outcome.followups})
        return results

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        return await self._store.complete(task_id, duration)

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        await self._store.fail(task_id, permanent=permanent, retry_wait=retry_wait)
        if not permanent:
            self._waiters.notify()

    async def yield_task(self, task_id: int, seconds: int) -> None:
        await self._store.yield_task(task_id, seconds)
        self._waiters.notify()

    async def release(self, tasks: Sequence[Task]) -> None:
        await self._store.release(tasks)
        self._waiters.notify({task.task_class for task in tasks})

    def give_back(self, tasks: Sequence[Task]) -> None:
        """Releases, in the background, leases that nobody has taken: tried again until it works or they have ended."""
        self._in_background(self._release_at_last(tasks))

    async def cancel(self, task_id: int) -> ArchivedTask:
        return await self._store.cancel(task_id)

    async def awaken(self, task_ids: Sequence[int]) -> int:
        awakened = await self._store.awaken(task_ids)
        if awakened:
            self._waiters.notify()
        return awakened

    async def stats(self) -> StoreStats:
        return await self._store.stats()

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        return await self._store.active_tasks(limit=limit, offset=offset, owner=owner)

    async def task(self, task_id: int) -> Task:
        return await self._store.task(task_id)

    async def _lease_now(self, wanted: StoreLease) -> Grant:
        asked_at = self._clock.boottime()
        return Grant(await self._store.lease(wanted), asked_at)

    async def _wait_in_line(self, wanted: StoreLease, seconds: float) -> Grant:
        waiter = Waiter(wanted)
        self._waiters.join(waiter)
        try:
            # Not asyncio.timeout: that would throw an answer away which comes in the same instant.
            await asyncio.wait((waiter.answer,), timeout=seconds)
        except asyncio.CancelledError:
            if waiter.answer.done() and not waiter.answer.exception():
                self.give_back(waiter.answer.result().tasks)
            raise
        finally:
            self._waiters.leave(waiter)
        if waiter.answer.cancelled():
            return Grant([], self._clock.boottime())
        return waiter.answer.result()

    async def _undo(self, attempt: asyncio.Task[Grant]) -> None:
        try:
            grant = await attempt
        except StoreError:  # nothing was leased, and nobody is left to be told
            return
        await self._release_at_last(grant.tasks)

    async def _release_at_last(self, tasks: Sequence[Task]) -> None:
        """Releases tasks, again and again while the store is in trouble and their lease has not run out."""
        ends = max((task.lease_expires or 0 for task in tasks), default=0)
        trouble = False
        while tasks and self._clock.wall() <= ends:
            try:
                await self.release(tasks)
            except StoreError as error:
                if not trouble:
                    ids = [task.id for task in tasks]
                    log.warning("leases can't be given back yet", tasks=ids, reason=str(error))
                trouble = True
                await asyncio.sleep(RECHECK)
            else:
                return

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._returning.add(task)
        task.add_done_callback(self._returning.discard)
