"""Operations on the database: each in a transaction, on a thread, on one of a bounded number of connections."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import structlog
from pymysql import err
from pymysql.connections import Connection

from gorge_worker.queues.mysql.connecting import Connect
from gorge_worker.queues.mysql.session import Session
from gorge_worker.queues.mysql.threads import Threads
from gorge_worker.queues.mysql.trouble import Again, Away, CommitLost, explain
from gorge_worker.queues.store import StoreError

log = structlog.get_logger()

T = TypeVar("T")

CONNECTIONS = 8
"""Connections, and threads that use them."""
TRIES = 8
"""So often a transaction is executed that the database undoes for the sake of others."""
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.2
"""Seconds between those tries."""
REST = 0.5
"""Seconds after a failed attempt to connect in which no other is made: callers get its error at once."""
IDLE = 600.0
"""Seconds after which an unused connection is closed rather than trusted."""

_ERRORS = (err.MySQLError, OSError, EOFError)


class Database:
    """Executes operations. `where` names the database without its password.

    A caller that is cancelled has no answer, but its operation is executed all the same: a statement that has been
    sent can't be taken back. `prepare` is called on the first connection that can be opened, before anything else.
    """

    def __init__(self, connect: Connect, where: str, *, rng: random.Random, prepare: Callable[[Session], None]) -> None:
        self._connect = connect
        self._where = where
        self._rng = rng
        self._prepare = prepare
        self._prepared = False
        self._preparing = Lock()
        self._threads = Threads(CONNECTIONS, "database")
        self._idle: list[tuple[Connection[Any], float]] = []
        self._lock = Lock()
        self._closed = False
        self._trouble: Away | None = None
        self._not_before = 0.0

    async def transact(self, operation: Callable[[Session], T]) -> T:
        """Executes the operation in a transaction; returns when its result is durable.

        The operation may be executed several times, but takes effect once at most. Raises what it raises, and
        StoreError: Away (nothing was written), CommitLost (perhaps), DoesNotFit and Duplicate (nothing was).
        """
        return await self._on_thread(lambda: self._again_and_again(operation))

    async def read(self, question: Callable[[Session], T]) -> T:
        """Executes statements that change nothing, or one that needs no transaction, likewise."""
        return await self._on_thread(lambda: self._with_session(question))

    async def close(self, within: float) -> None:
        """Finishes what has been called, if that takes no more than so many seconds, and closes all connections:
        afterwards every call raises StoreError.
        """
        self._closed = True
        if not await self._threads.finish(within):
            log.warning("the database does not answer, what it was asked for is left behind", database=self._where)
        self._drop_idle()

    async def _on_thread(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreError(f"the database {self._where} has been closed")
        return await self._threads.run(work)

    def _again_and_again(self, operation: Callable[[Session], T]) -> T:
        pause = FIRST_PAUSE
        for _ in range(TRIES - 1):
            try:
                return self._with_session(operation, transaction=True)
            except Again:
                time.sleep(pause * self._rng.uniform(0.5, 1.0))
                pause = min(pause * 2, LONGEST_PAUSE)
        return self._with_session(operation, transaction=True)

    def _with_session(self, operation: Callable[[Session], T], *, transaction: bool = False) -> T:
        connection, now = self._begin(transaction=transaction)
        result, committing = None, False
        try:
            result = operation(Session(connection, now))
            if transaction:
                committing = True
                _execute(connection, "COMMIT")
        except _ERRORS as error:
            trouble = explain(error, self._where)
            if isinstance(trouble, Away):
                _discard(connection)
                self._gone(trouble)
                if committing:
                    raise CommitLost(str(trouble), result) from error
            else:
                self._put_back(connection, undo=transaction)
            raise trouble from error
        except BaseException:
            self._put_back(connection, undo=transaction)
            raise
        self._put_back(connection)
        return result

    def _begin(self, *, transaction: bool) -> tuple[Connection[Any], int]:
        """A connection in which nothing but the beginning has happened, and the server's time.

        An idle connection may have been cut since: that shows here, where it does no harm yet.
        """
        while idle := self._take_idle():
            try:
                return idle, _start(idle, transaction=transaction)
            except _ERRORS:  # so are the others, most likely: none of them is worth another time-out
                _discard(idle)
                self._drop_idle()
        connection = self._open()
        try:
            return connection, _start(connection, transaction=transaction)
        except _ERRORS as error:
            _discard(connection)
            raise self._away(error) from error

    def _open(self) -> Connection[Any]:
        with self._lock:
            if self._trouble and time.monotonic() < self._not_before:
                raise Away(str(self._trouble))
        try:
            connection = self._connect()
        except _ERRORS as error:
            raise self._away(error) from error
        try:
            self._prepare_once(connection)
        except _ERRORS as error:
            _discard(connection)
            raise self._away(error) from error
        except StoreError as error:
            _discard(connection)
            raise self._away(error) from error
        with self._lock:
            trouble, self._trouble = self._trouble, None
        if trouble:
            log.info("the database can be used again", database=self._where)
        return connection

    def _prepare_once(self, connection: Connection[Any]) -> None:
        with self._preparing:  # takes its time: the other lock is held for moments only
            if not self._prepared:
                session = Session(connection, _start(connection, transaction=False))
                self._prepare(session)
                self._prepared = True
                log.info("connected to the database", database=self._where, server=session.server_version)

    def _away(self, error: Exception) -> Away:
        trouble = Away(str(error) if isinstance(error, StoreError) else str(explain(error, self._where)))
        with self._lock:
            first, self._trouble = self._trouble is None, trouble
            self._not_before = time.monotonic() + REST * self._rng.uniform(0.5, 1.0)
        if first:
            log.error("the database can't be used, it is tried again", reason=str(trouble))
        return trouble

    def _gone(self, trouble: Away) -> None:
        """One connection is lost: so are the idle ones, or they lead to a server that is no longer the right one."""
        log.warning("a database connection was lost", reason=str(trouble))
        self._drop_idle()

    def _take_idle(self) -> Connection[Any] | None:
        with self._lock:
            if not self._idle:
                return None
            connection, since = self._idle.pop()
        if time.monotonic() - since <= IDLE:
            return connection
        _discard(connection)
        return self._take_idle()

    def _put_back(self, connection: Connection[Any], *, undo: bool = False) -> None:
        try:
            if undo:
                _execute(connection, "ROLLBACK")
        except _ERRORS:
            _discard(connection)
            return
        with self._lock:
            self._idle.append((connection, time.monotonic()))

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            _discard(connection)


def _start(connection: Connection[Any], *, transaction: bool) -> int:
    if transaction:
        _execute(connection, "START TRANSACTION")
    with connection.cursor() as cursor:
        cursor.execute("SELECT UNIX_TIMESTAMP()")
        [now] = cursor.fetchone() or (0,)
    return int(now)


def _discard(connection: Connection[Any]) -> None:
    if connection.open:  # closing one that the driver has given up already is an error of its own
        connection.close()


def _execute(connection: Connection[Any], statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
