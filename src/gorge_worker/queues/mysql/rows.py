"""Rows as this driver brings them: PHIDs are bytes, and all text is where Phorge was installed without utf8mb4."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gorge_worker.queues import rows
from gorge_worker.queues.mysql.session import Row, Session, marks

WITHOUT_DATA = f"SELECT {rows.NAMES} FROM worker_activetask AS t"  # noqa: S608 -- the table's own columns
WITH_DATA = f"SELECT {rows.NAMES}, d.data FROM worker_activetask AS t LEFT JOIN worker_taskdata AS d ON d.id = t.dataID"  # noqa: S608 -- likewise


def read(row: Row, **known: Any) -> rows.Reading:
    """Reads a row of WITHOUT_DATA."""
    return rows.read([text(value) for value in row[: 1 + len(rows.COLUMNS)]], **known)


def read_whole(row: Row, **known: Any) -> rows.Reading:
    """Reads a row of WITH_DATA."""
    data = text(row[-1])
    reading = read(row, data=data if isinstance(data, str) else "", **known)
    if problem := rows.data_problem(data):
        reading.problems.append(problem)
    return reading


def by_id(session: Session, statement: str, ids: Iterable[int], more: str = "") -> list[Row]:
    """The rows of these ids, of a statement over `worker_activetask AS t`, by id; `more` is what follows."""
    wanted = sorted(set(ids))
    if not wanted:
        return []
    return list(session.rows(f"{statement} WHERE t.id IN ({marks(len(wanted))}) {more}", wanted))


def text(value: object) -> object:
    """Text, also where the column is binary; bytes that are no UTF-8 stay bytes."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
