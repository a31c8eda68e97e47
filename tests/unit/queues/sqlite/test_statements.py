"""Whatever the tables hold, a lease reads as many index entries as it takes places."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gorge_worker.queues.sqlite import garbage, leasing, reading
from gorge_worker.queues.sqlite.connection import open_writer

VALUES = {"now": 1, "limit": 100, "offset": 0, "task_class": "A", "owner": "me", "most": 9}
STATEMENTS = {
    "new": (leasing.NEW, "SEARCH worker_activetask USING INDEX active_by_owner (leaseOwner=?)"),
    "new of a class": (
        leasing.NEW_OF_CLASS,
        "SEARCH worker_activetask USING INDEX active_new_by_class (taskClass=?)",
    ),
    "due": (leasing.DUE, "SEARCH worker_activetask USING INDEX active_due (leaseExpires<?)"),
    "due of a class": (
        leasing.DUE_OF_CLASS,
        "SEARCH worker_activetask USING INDEX active_due_by_class (taskClass=? AND leaseExpires<?)",
    ),
    "list": (reading.LIST, "SCAN t USING INDEX active_by_priority"),
    "list of an owner": (reading.LIST_OF_OWNER, "SEARCH t USING INDEX active_by_owner (leaseOwner=?)"),
    **{
        f"next {name} of {kind}": (statement, f"SEARCH worker_activetask USING INDEX {index}")
        for kind, moments, new_index, due_index in (
            ("any", reading.OF_ANY, "active_by_owner (leaseOwner=?)", "active_due (leaseExpires<?)"),
            (
                "a class",
                reading.OF_CLASS,
                "active_new_by_class (taskClass=?)",
                "active_due_by_class (taskClass=? AND leaseExpires<?)",
            ),
        )
        for name, statement, index in (
            ("new", moments.new, new_index),
            ("delayed", moments.delayed, new_index),
            ("owned", moments.owned, due_index),
        )
    },
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_writer(tmp_path / "q.db")) as writer:
        yield writer


def plan(database: sqlite3.Connection, statement: str, values: object) -> list[str]:
    return [row[3].replace("COVERING ", "") for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", values)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_reads_one_index_in_order(database: sqlite3.Connection, name: str) -> None:
    statement, expected = STATEMENTS[name]
    assert plan(database, statement, VALUES) == [expected]


def test_garbage_is_found_by_index(database: sqlite3.Connection) -> None:
    [step] = plan(database, garbage.OLD, (1, 100))
    assert step == "SEARCH worker_archivetask USING INDEX archive_modified (dateModified<?)"


@pytest.mark.parametrize("statement", [leasing.NEW, leasing.NEW_OF_CLASS, leasing.DUE, leasing.DUE_OF_CLASS])
def test_a_lease_takes_as_many_steps_among_many_rows_as_among_few(database: sqlite3.Connection, statement: str) -> None:
    def fill(count: int) -> None:
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO worker_activetask (taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority, "
            "dateCreated, dateModified) VALUES (?, ?, ?, 0, 0, 2000, 0, 0)",
            [row for _ in range(count) for name in "AB" for row in ((name, None, None), (name, "x", 0))],
        )
        database.execute("COMMIT")

    def steps() -> int:
        count = 0

        def step() -> int:
            nonlocal count
            count += 1
            return 0

        database.set_progress_handler(step, 10)
        assert len(database.execute(statement, VALUES).fetchall()) == 100
        database.set_progress_handler(None, 10)
        return count

    fill(200)
    few = steps()
    fill(5000)
    assert steps() <= few + 2
