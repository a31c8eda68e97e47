"""Rows as tasks.

A row that another program has written nonsense into is that row's trouble alone: it is shown as far as it can be
read, can be cancelled, and is set aside instead of leased (see `leasing`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from gorge_worker.model import Task
from gorge_worker.queues.store import MAX_UNSIGNED

MAX_INTEGER = 2**63 - 1
"""The largest number that SQLite binds or stores."""

Row = tuple[Any, ...]


class Column(NamedTuple):
    name: str
    field: str
    holds: Callable[[Any], bool]
    instead: Any
    """What stands for a value that the column should not hold."""


def is_unsigned(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_UNSIGNED


def _unsigned_or_null(value: object) -> bool:
    return value is None or is_unsigned(value)


def _name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


COLUMNS = (
    Column("taskClass", "task_class", _name, ""),
    Column("leaseOwner", "lease_owner", _text_or_null, None),
    Column("leaseExpires", "lease_expires", _unsigned_or_null, None),
    Column("failureCount", "failure_count", is_unsigned, 0),
    Column("dataID", "data_id", is_unsigned, 0),
    Column("failureTime", "failure_time", _unsigned_or_null, None),
    Column("priority", "priority", is_unsigned, 0),
    Column("objectPHID", "object_phid", _text_or_null, None),
    Column("containerPHID", "container_phid", _text_or_null, None),
    Column("dateCreated", "date_created", is_unsigned, 0),
    Column("dateModified", "date_modified", is_unsigned, 0),
)
NAMES = ", ".join(f"t.{name}" for name in ("id", *(column.name for column in COLUMNS)))

WITHOUT_DATA = f"SELECT {NAMES} FROM worker_activetask AS t"  # noqa: S608 -- the table's own columns
WITH_DATA = f"SELECT {NAMES}, d.data FROM worker_activetask AS t LEFT JOIN worker_taskdata AS d ON d.id = t.dataID"  # noqa: S608 -- likewise
_ONE_WITHOUT_DATA = f"{WITHOUT_DATA} WHERE t.id = ?"
_ONE_WITH_DATA = f"{WITH_DATA} WHERE t.id = ?"


class Reading(NamedTuple):
    """A task as far as its row can be read, and what is wrong with the row, in words."""

    task: Task
    problems: list[str]


def read(row: Row, **known: Any) -> Reading:
    """Reads a row of WITH_DATA or WITHOUT_DATA; `known` are fields that are about to be overwritten with these."""
    fields: dict[str, Any] = {"id": row[0]}
    problems = [] if 0 < row[0] <= MAX_UNSIGNED else ["its id is out of range"]
    for column, value in zip(COLUMNS, row[1:], strict=False):
        if column.field in known or column.holds(value):
            fields[column.field] = value
        else:
            fields[column.field] = column.instead
            problems.append(f"{column.name} is {value!r:.40}")
    for data in row[1 + len(COLUMNS) :]:
        if isinstance(data, str):
            fields["data"] = data
        else:
            problems.append("its row in worker_taskdata is missing" if data is None else "its data is not UTF-8 text")
    return Reading(Task(**(fields | known)), problems)


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
