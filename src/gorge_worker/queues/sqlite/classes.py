"""Which classes a filter stands for: an index is read class by class, and stops at its limit in each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from gorge_worker.queues.protocol import ClassFilter

NEXT_NEW = (
    "SELECT min(taskClass) FROM worker_activetask INDEXED BY active_new_by_class "
    "WHERE leaseOwner IS NULL AND taskClass > ?"
)
NEXT_DUE = (
    "SELECT min(taskClass) FROM worker_activetask INDEXED BY active_due_by_class "
    "WHERE leaseOwner IS NOT NULL AND taskClass > ?"
)


def named_classes(connection: sqlite3.Connection, classes: ClassFilter) -> list[str] | None:
    """The wanted classes by name, None for any. Of a filter by exclusion those that there are tasks of."""
    if classes.only:
        return list(classes.only)
    if not classes.without:
        return None
    present = {*_present(connection, NEXT_NEW), *_present(connection, NEXT_DUE)}
    return sorted(present - set(classes.without))


def _present(connection: sqlite3.Connection, statement: str) -> Iterator[str]:
    """Each class once, by a look into the index for each: it does not matter how many tasks a class has."""
    name = ""
    while True:
        [name] = connection.execute(statement, (name,)).fetchone()
        if not isinstance(name, str):  # no more, or a broken row's
            return
        yield name
