"""The store: every operation of TaskStore, sent to the writing or the reading thread."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.model import ArchivedTask, ArchiveResult, Lease, NewTask, Task
from gorge_worker.queues.checks import check_event_id, check_new_task, check_owner, storable_filter
from gorge_worker.queues.protocol import ClassFilter, Report, ReportResult
from gorge_worker.queues.retention import PAUSE
from gorge_worker.queues.sqlite import enqueueing, events, garbage, leasing, outcomes, reading, reporting
from gorge_worker.queues.sqlite.connection import open_reader, open_writer
from gorge_worker.queues.sqlite.writer import Writer
from gorge_worker.queues.store import Renewed, StoreError, StoreLease, StoreStats
from gorge_worker.queues.turns import Turns

P = ParamSpec("P")
T = TypeVar("T")


class SqliteStore:
    """Keeps tasks in one SQLite file (see TaskStore).

    Writes are committed in groups with full durability; a caller that is cancelled after its call has begun has its
    write done all the same. Reads go beside them and see whatever has been acknowledged. Several processes may use
    one file. Belongs to the event loop that it was opened in.
    """

    shared = False

    def __init__(self, writer: Writer, reader: sqlite3.Connection, *, retry_wait: int, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-reads")
        self._retry_wait = retry_wait
        self._clock = clock
        self._turns = Turns()
        self._closed = False
        self._collector = asyncio.create_task(self._collect_garbage())

    @classmethod
    async def open(cls, path: Path, *, retry_wait: int, clock: Clock) -> SqliteStore:
        """Opens the database, and creates it where there is none; its folder must exist.

        `retry_wait` (seconds) is a temporary failure's wait where none is named. Raises StartError.
        """
        writer, reader = await asyncio.to_thread(_connect, path)
        return cls(Writer(writer, path), reader, retry_wait=retry_wait, clock=clock)

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        for task in tasks:
            check_new_task(task)
        return await self._write(enqueueing.enqueue, tasks)

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        check_event_id(event_id)
        check_new_task(task)
        return await self._write(events.enqueue_once, event_id, task)

    async def supports_events(self) -> bool:
        return True

    async def lease(self, wanted: StoreLease) -> list[Task]:
        """Leases tasks (see TaskStore). Raises BadTask for an owner that no column can hold.

        A row that can't be read as a task is set aside (see `leasing`); the others of the lease are not affected.
        """
        check_owner(wanted.owner)
        if (classes := storable_filter(wanted.classes)) is None:
            return []
        wanted = msgspec.structs.replace(wanted, classes=classes)
        return await self._write(leasing.lease, wanted, due_first=self._turns.due_first(classes))

    async def next_due(self, classes: ClassFilter) -> int | None:
        if (storable := storable_filter(classes)) is None:
            return None
        return await self._read(reading.next_due, self._now(), storable)

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        return await self._write(reporting.renew, leases, duration)

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        return await self._write(reporting.report, reports, self._retry_wait)

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        return await self._write(outcomes.archive_unfenced, task_id, ArchiveResult.SUCCESS, duration)

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        if permanent:
            await self._write(outcomes.archive_unfenced, task_id, ArchiveResult.FAILURE)
        else:
            await self._write(outcomes.fail, task_id, self._retry_wait if retry_wait is None else retry_wait)

    async def yield_task(self, task_id: int, seconds: int) -> None:
        await self._write(outcomes.yield_task, task_id, seconds)

    async def release(self, tasks: Sequence[Task]) -> None:
        leases = [(task.id, task.lease_owner, task.lease_expires) for task in tasks]
        await self._write(outcomes.release, leases)

    async def cancel(self, task_id: int) -> ArchivedTask:
        return await self._write(outcomes.archive_unfenced, task_id, ArchiveResult.CANCELLED)

    async def awaken(self, task_ids: Sequence[int]) -> int:
        return await self._write(outcomes.awaken, task_ids)

    async def stats(self) -> StoreStats:
        return await self._read(reading.stats, self._now())

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        return await self._read(reading.active_tasks, limit, offset, owner)

    async def task(self, task_id: int) -> Task:
        return await self._read(reading.task, task_id)

    async def close(self) -> None:
        """Finishes what has been called, and closes the file: afterwards every call raises StoreError."""
        self._closed = True
        self._collector.cancel()
        await asyncio.wait((self._collector,))
        await asyncio.to_thread(self._reading.shutdown)
        self._reader.close()
        await self._writer.close()

    def _now(self) -> int:
        return int(self._clock.wall())

    async def _write(
        self, operation: Callable[Concatenate[sqlite3.Connection, int, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def at_its_time(connection: sqlite3.Connection) -> T:
            return operation(connection, self._now(), *args, **kwargs)

        return await self._writer.execute(at_its_time)

    async def _read(
        self, question: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if self._closed:
            raise StoreError("the task database has been closed")
        call = functools.partial(question, self._reader, *args, **kwargs)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reading, call)
        except sqlite3.Error as error:
            raise StoreError(f"the task database can't be read: {error}") from error

    async def _collect_garbage(self) -> None:
        while True:
            with contextlib.suppress(StoreError):  # the writer has logged it, and the next hour is as good
                while await self._write(garbage.collect):
                    pass
            await asyncio.sleep(PAUSE)


def _connect(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    writer = open_writer(path)
    try:
        return writer, open_reader(path)
    except BaseException:
        writer.close()
        raise
