from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gorge_worker.errors import StartError
from gorge_worker.queues.sqlite import connection as module
from gorge_worker.queues.sqlite import schema
from gorge_worker.queues.sqlite.connection import open_reader, open_writer, savepoint


def make_database(path: Path, *statements: str) -> bytes:
    with closing(sqlite3.connect(path)) as other:
        for statement in statements:
            other.execute(statement)
        other.commit()
    return path.read_bytes()


def fail_after_writing(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO worker_taskdata (data) VALUES ('undone')")
    raise ZeroDivisionError


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def test_the_tables_are_phorges(tmp_path: Path) -> None:
    both = {
        "id",
        "taskClass",
        "leaseOwner",
        "leaseExpires",
        "failureCount",
        "dataID",
        "priority",
        "objectPHID",
        "containerPHID",
        "dateCreated",
        "dateModified",
    }
    with closing(open_writer(tmp_path / "q.db")) as writer:
        assert columns(writer, "worker_activetask") == both | {"failureTime"}
        assert columns(writer, "worker_archivetask") == both | {"result", "duration", "archivedEpoch"}
        assert columns(writer, "worker_taskdata") == {"id", "data"}
        assert columns(writer, "lisk_counter") == {"counterName", "counterValue"}


def test_every_commit_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "q.db")) as writer:
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_database_is_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        with closing(open_writer(tmp_path / "q.db")) as writer:
            assert writer.execute("SELECT count(*) FROM worker_activetask").fetchone() == (0,)


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    path.touch()
    open_writer(path).close()
    assert path.stat().st_size > 0


def test_a_reader_can_not_write(tmp_path: Path) -> None:
    open_writer(tmp_path / "q.db").close()
    with closing(open_reader(tmp_path / "q.db")) as reader, pytest.raises(sqlite3.OperationalError):
        reader.execute("DELETE FROM worker_activetask")


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE theirs (x)",),
        ("PRAGMA application_id = 5",),
        ("PRAGMA user_version = 1",),
        ("CREATE TABLE worker_activetask (id INTEGER PRIMARY KEY)",),
    ],
)
def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path, statements: tuple[str, ...]) -> None:
    path = tmp_path / "theirs.db"
    before = make_database(path, *statements)
    with pytest.raises(StartError, match=r"theirs\.db is another program's database: name another path"):
        open_writer(path)
    assert path.read_bytes() == before


def test_a_newer_versions_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    open_writer(path).close()
    before = make_database(path, f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(StartError, match=r"q\.db was written by another version .*schema 3, this one knows 2"):
        open_writer(path)
    assert path.read_bytes()[:100] == before[:100]


def test_an_older_versions_database_is_brought_up_to_date_and_keeps_its_tasks(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    open_writer(path).close()
    task = "INSERT INTO worker_activetask VALUES (7, 'A', NULL, NULL, 0, 1, 2000, NULL, NULL, 1, 1, NULL)"
    make_database(path, "DROP TABLE gorge_event", task, "PRAGMA user_version = 1")
    for _ in range(2):
        connection = open_writer(path)
        try:
            assert connection.execute("SELECT id FROM worker_activetask").fetchall() == [(7,)]
            assert connection.execute("SELECT count(*) FROM gorge_event").fetchone() == (0,)
            assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        finally:
            connection.close()


def test_what_is_not_a_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, all of them\n" * 50)
    with pytest.raises(StartError, match=r"notes\.txt .*not an SQLite database: name another path"):
        open_writer(path)
    assert path.read_text().startswith("these are my notes")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=f"there is no folder {tmp_path}/missing: create it"):
        open_writer(tmp_path / "missing" / "q.db")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="it is a folder: name a file in it"):
        open_writer(tmp_path)


def test_a_folder_that_can_not_be_written_to_is_named_with_what_to_do() -> None:
    with pytest.raises(StartError, match=r"/proc/self/q\.db .*the right to read and write the file and its folder"):
        open_writer(Path("/proc/self/q.db"))


def test_a_locked_database_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT", 0.01)
    path = tmp_path / "q.db"
    with closing(open_writer(path)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StartError, match="another program keeps it locked: end that program"):
            open_writer(path)


def test_a_read_only_database_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "q.db"
    open_writer(path).close()
    # Rights do not bind root, who may run this test: SQLite's own read-only mode refuses in the same words.
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: real(f"file:{path}?mode=ro", uri=True, **more))
    with pytest.raises(StartError, match=r"readonly.*: give the user that runs gorge-worker the right to write"):
        open_writer(path)


def test_a_savepoint_undoes_its_block_alone(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "q.db")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with savepoint(writer):
            writer.execute("INSERT INTO worker_taskdata (data) VALUES ('kept')")
        with pytest.raises(ZeroDivisionError), savepoint(writer), savepoint(writer):
            fail_after_writing(writer)
        writer.execute("COMMIT")
        assert writer.execute("SELECT data FROM worker_taskdata").fetchall() == [("kept",)]
