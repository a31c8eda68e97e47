"""Group commit: one thread owns the writing connection, and commits together what has queued up meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import structlog

from gorge_worker.queues.sqlite.connection import savepoint
from gorge_worker.queues.store import StoreError

log = structlog.get_logger()

T = TypeVar("T")

MAX_GROUP = 256
"""Operations in one transaction: bounds how long the first of them waits for the last."""


@dataclass(slots=True, eq=False)
class _Job:
    operation: Callable[[sqlite3.Connection], Any]
    answer: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class Writer:
    """Executes operations one after the other, in the order of their calls, each in a savepoint of its own.

    An operation that raises costs only itself. A commit that fails (disk full) fails its whole group with StoreError,
    and the next group is tried anew. Belongs to the event loop that it was made in.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False
        self._in_trouble = False
        # A daemon: what is acknowledged is durable, so that a process which ends without close() need not wait.
        self._thread = Thread(target=self._run, name=f"writes {path.name}", daemon=True)
        self._thread.start()

    async def execute(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Executes the operation on the writing thread; returns when its result is durable.

        Raises what the operation raises, and StoreError. A caller that is cancelled has no answer, but its operation
        is executed all the same.
        """
        if self._closed:
            raise StoreError(f"the task database {self._path} has been closed")
        answer: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(operation, answer))
        return await answer

    async def close(self) -> None:
        """Executes what has queued up, moves the write-ahead log into the database and closes it."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while group := self._next_group():
            self._commit(group)
            self._loop.call_soon_threadsafe(_answer, group)
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()
        except sqlite3.Error as error:
            log.warning("the task database could not be tidied up; nothing is lost", reason=str(error))

    def _next_group(self) -> list[_Job]:
        """Waits for a job and takes those that are there by then; none once the writer has been closed."""
        group: list[_Job] = []
        job = self._jobs.get()
        with contextlib.suppress(Empty):
            while job is not None:
                group.append(job)
                if len(group) == MAX_GROUP:
                    return group
                job = self._jobs.get_nowait()
            self._jobs.put(None)  # the end, kept for the next call
        return group

    def _commit(self, group: list[_Job]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in group:
                self._attempt(job)
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 (callers get it; if the thread died of it, they would wait for ever)
            # When this fails too, so does the next BEGIN, and the next group comes here again.
            with contextlib.suppress(sqlite3.Error):
                self._connection.rollback()
            self._fail(group, error)
        else:
            if self._in_trouble:
                log.info("the task database can be written again", path=str(self._path))
            self._in_trouble = False

    def _attempt(self, job: _Job) -> None:
        try:
            with savepoint(self._connection):
                job.result = job.operation(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise
            job.error = self._trouble(error) if isinstance(error, sqlite3.Error) else error

    def _fail(self, group: list[_Job], error: Exception) -> None:
        if not self._in_trouble:
            log.error("the task database can't be written", path=str(self._path), reason=str(error))
        self._in_trouble = True
        for job in group:
            job.error = self._trouble(error)

    def _trouble(self, error: Exception) -> StoreError:
        trouble = StoreError(f"the task database {self._path} can't be written: {error}")
        trouble.__cause__ = error
        return trouble


def _answer(group: list[_Job]) -> None:
    for job in group:
        if job.answer.done():  # its caller was cancelled
            continue
        if job.error is None:
            job.answer.set_result(job.result)
        else:
            job.answer.set_exception(job.error)
