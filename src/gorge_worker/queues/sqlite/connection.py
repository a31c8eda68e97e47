"""Opening the database: whose file it is, and what to tell the operator when it can't be used."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from gorge_worker.errors import StartError
from gorge_worker.queues.sqlite import schema

BUSY_TIMEOUT = 5.0
"""Seconds that a statement waits for another process's transaction."""
MAX_WAL_BYTES = 64 * 1024 * 1024
"""What a burst may leave of the write-ahead log."""

_ADVICE = {
    "SQLITE_NOTADB": "it is not an SQLite database: name another path, or move that file away",
    "SQLITE_CORRUPT": "the file is damaged: restore it from a backup, or move it away to start with an empty queue",
    "SQLITE_READONLY": "give the user that runs gorge-worker the right to write the file and its folder",
    "SQLITE_CANTOPEN": "give the user that runs gorge-worker the right to read and write the file and its folder",
    "SQLITE_BUSY": "another program keeps it locked: end that program",
    "SQLITE_FULL": "the disk is full: make room",
}


def open_writer(path: Path) -> sqlite3.Connection:
    """Opens the database for writing, creating it where there is none. Raises StartError.

    A file of another program, or of a newer version of this one, is refused and left as it is.
    """
    with _explained(path):
        connection = _connect(path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            _create_or_recognise(connection, path)
            connection.execute("COMMIT")
            _make_durable(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Opens a database that `open_writer` has opened, for reading only. Raises StartError."""
    with _explained(path):
        connection = _connect(path)
        connection.execute("PRAGMA query_only = ON")
        return connection


@contextlib.contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Undoes what its block has written when that raises, and nothing else of the transaction.

    After some errors (disk full) SQLite itself has undone the whole transaction: `connection.in_transaction` tells.
    """
    connection.execute("SAVEPOINT step")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO step")
            connection.execute("RELEASE step")
        raise
    connection.execute("RELEASE step")


def _connect(path: Path) -> sqlite3.Connection:
    # Each connection is opened on one thread and then used by another one alone.
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str | bytes:
    """Text as it is stored. What is not UTF-8 stays bytes, and is that one row's trouble instead of the query's."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _create_or_recognise(connection: sqlite3.Connection, path: Path) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    [objects] = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, version, objects) == (0, 0, 0):
        _execute_all(connection, schema.CREATE)
    elif application != schema.APPLICATION_ID:
        raise StartError(f"{path} is another program's database: name another path")
    elif not min(schema.UPGRADES) <= version <= schema.VERSION:
        raise StartError(
            f"{path} was written by another version of gorge-worker (schema {version}, this one knows "
            f"{schema.VERSION}): use that version, or name another path"
        )
    else:
        for older in range(version, schema.VERSION):
            _execute_all(connection, schema.UPGRADES[older])
    # Changes nothing, but is a write: a file that can't be written lets even BEGIN IMMEDIATE pass.
    connection.execute(f"PRAGMA user_version = {schema.VERSION}")


def _execute_all(connection: sqlite3.Connection, script: str) -> None:
    """Within the transaction, unlike `executescript`."""
    for statement in script.split(";"):
        connection.execute(statement)


def _make_durable(connection: sqlite3.Connection, path: Path) -> None:
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StartError(f"the task database {path} can't have a write-ahead log: put it on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL_BYTES}")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if path.is_dir():
            advice = "it is a folder: name a file in it"
        elif not os.path.isdir(path.parent):  # noqa: PTH112 -- Path.is_dir raises where a folder above can't be read
            advice = f"there is no folder {path.parent}: create it, or name another path"
        else:
            kinds = (text for kind, text in _ADVICE.items() if error.sqlite_errorname.startswith(kind))
            advice = next(kinds, "name another path, or see what keeps SQLite from using it")
        raise StartError(f"the task database {path} can't be opened ({error}): {advice}") from error
