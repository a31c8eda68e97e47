"""Rows as this driver brings them."""

from __future__ import annotations

import sqlite3
from typing import Any

from gorge_worker.model import Task
from gorge_worker.queues.rows import COLUMNS, NAMES, Reading, data_problem
from gorge_worker.queues.rows import read as read_columns

MAX_INTEGER = 2**63 - 1
"""The largest number that SQLite binds or stores."""

Row = tuple[Any, ...]


WITHOUT_DATA = f"SELECT {NAMES} FROM worker_activetask AS t"  # noqa: S608 -- the table's own columns
WITH_DATA = f"SELECT {NAMES}, d.data FROM worker_activetask AS t LEFT JOIN worker_taskdata AS d ON d.id = t.dataID"  # noqa: S608 -- likewise
_ONE_WITHOUT_DATA = f"{WITHOUT_DATA} WHERE t.id = ?"
_ONE_WITH_DATA = f"{WITH_DATA} WHERE t.id = ?"


def read(row: Row, **known: Any) -> Reading:
    """Reads a row of WITH_DATA or WITHOUT_DATA; `known` are fields that are about to be overwritten with these."""
    columns = 1 + len(COLUMNS)
    if len(row) == columns:
        return read_columns(row, **known)
    data = row[columns]
    reading = read_columns(row[:columns], data=data if isinstance(data, str) else "", **known)
    if problem := data_problem(data):
        reading.problems.append(problem)
    return reading


def find(connection: sqlite3.Connection, task_id: int) -> Task | None:
    """One active task without its data, as far as it can be read; None where there is none of that id."""
    row = _one(connection, _ONE_WITHOUT_DATA, task_id)
    return None if row is None else read(row).task


def find_with_data(connection: sqlite3.Connection, task_id: int, **known: Any) -> Reading | None:
    """One active task with its data, None where there is none of that id; for `known` see `read`."""
    row = _one(connection, _ONE_WITH_DATA, task_id)
    return None if row is None else read(row, **known)


def _one(connection: sqlite3.Connection, statement: str, task_id: int) -> Row | None:
    if not is_integer(task_id):
        return None
    row: Row | None = connection.execute(statement, (task_id,)).fetchone()
    return row


def is_integer(number: int) -> bool:
    """False for numbers that SQLite can't even compare with: no row has them."""
    return abs(number) <= MAX_INTEGER
