from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gorge_worker.queues.sqlite.connection import open_reader, open_writer
from gorge_worker.queues.sqlite.writer import Writer
from gorge_worker.queues.store import StoreError


class Counting(sqlite3.Connection):
    """Counts commits, and fails those that it is told to."""

    commits = 0
    full = False

    def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            if self.full:
                raise sqlite3.OperationalError("database or disk is full")
            self.commits += 1
        return super().execute(sql, *more)


@contextlib.asynccontextmanager
async def writing(folder: Path) -> AsyncIterator[tuple[Writer, Counting]]:
    open_writer(folder / "q.db").close()
    connection = sqlite3.connect(folder / "q.db", factory=Counting, isolation_level=None, check_same_thread=False)
    writer = Writer(connection, folder / "q.db")
    try:
        yield writer, connection
    finally:
        connection.full = False
        await writer.close()


def insert(text: str, connection: sqlite3.Connection) -> str:
    connection.execute("INSERT INTO worker_taskdata (data) VALUES (?)", (text,))
    return text


def fail_after_writing(connection: sqlite3.Connection) -> None:
    insert("undone", connection)
    raise ZeroDivisionError


def break_sql(connection: sqlite3.Connection) -> None:
    insert("undone", connection)
    connection.execute("SELECT no_such_column")


async def held_back(writer: Writer) -> threading.Event:
    """Keeps the writing thread busy until the event is set, so that what comes meanwhile forms one group."""
    started, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def wait(_: sqlite3.Connection) -> None:
        loop.call_soon_threadsafe(started.set)
        go_on.wait()

    busy = asyncio.create_task(writer.execute(wait))
    busy.add_done_callback(lambda task: task.exception())
    await started.wait()
    return go_on


def stored(folder: Path) -> list[str]:
    with contextlib.closing(open_reader(folder / "q.db")) as reader:
        return [text for (text,) in reader.execute("SELECT data FROM worker_taskdata ORDER BY id")]


async def test_what_queues_up_is_committed_together_in_order(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, connection):
        go_on = await held_back(writer)
        texts = [f"{number:03}" for number in range(100)]
        calls = [asyncio.create_task(writer.execute(lambda c, text=text: insert(text, c))) for text in texts]  # type: ignore[misc]
        await asyncio.sleep(0)
        go_on.set()
        assert await asyncio.gather(*calls) == texts
        assert connection.commits == 2
        assert stored(tmp_path) == texts


async def test_one_group_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.queues.sqlite.writer.MAX_GROUP", 10)
    async with writing(tmp_path) as (writer, connection):
        go_on = await held_back(writer)
        calls = [asyncio.create_task(writer.execute(lambda c: insert("x", c))) for _ in range(25)]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(*calls)
        assert connection.commits == 1 + 3


async def test_an_operation_that_fails_costs_only_itself(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _):
        go_on = await held_back(writer)
        calls = [
            asyncio.create_task(writer.execute(lambda c: insert("first", c))),
            asyncio.create_task(writer.execute(fail_after_writing)),
            asyncio.create_task(writer.execute(break_sql)),
            asyncio.create_task(writer.execute(lambda c: insert("last", c))),
        ]
        await asyncio.sleep(0)
        go_on.set()
        first, failed, broken, last = await asyncio.gather(*calls, return_exceptions=True)
        assert (first, last) == ("first", "last")
        assert isinstance(failed, ZeroDivisionError)
        assert isinstance(broken, StoreError)
        assert stored(tmp_path) == ["first", "last"]


async def test_a_failed_commit_fails_its_whole_group_and_the_next_one_is_tried_anew(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, connection):
        with capture_logs() as logs:
            connection.full = True
            for _ in range(2):
                results = await asyncio.gather(
                    *[writer.execute(lambda c: insert("lost", c)) for _ in range(5)], return_exceptions=True
                )
                assert all(isinstance(result, StoreError) and "disk is full" in str(result) for result in results)
            connection.full = False
            assert await writer.execute(lambda c: insert("kept", c)) == "kept"
        assert stored(tmp_path) == ["kept"]
        assert [(entry["log_level"], entry["event"]) for entry in logs] == [
            ("error", "the task database can't be written"),
            ("info", "the task database can be written again"),
        ]


async def test_a_full_disk_is_survived(tmp_path: Path) -> None:
    """SQLite's own limit stands for the disk: in the middle of an operation it undoes the whole transaction."""
    async with writing(tmp_path) as (writer, _):

        def limit(connection: sqlite3.Connection, pages: int) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")

        await writer.execute(lambda c: insert("before", c))
        await writer.execute(lambda c: limit(c, 1))
        go_on = await held_back(writer)
        calls = [asyncio.create_task(writer.execute(lambda c: insert("x" * 100_000, c))) for _ in range(3)]
        await asyncio.sleep(0)
        go_on.set()
        for result in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(result, StoreError)
        await writer.execute(lambda c: limit(c, 1_000_000))
        await writer.execute(lambda c: insert("after", c))
        assert stored(tmp_path) == ["before", "after"]


async def test_when_sqlite_undoes_the_whole_transaction_nothing_of_the_group_stays(tmp_path: Path) -> None:
    """As after an input/output error: what came before is gone, and what comes after must not be done by itself."""

    def lose_everything(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")

    async with writing(tmp_path) as (writer, _):
        go_on = await held_back(writer)
        calls = [
            asyncio.create_task(writer.execute(lambda c: insert("before", c))),
            asyncio.create_task(writer.execute(lose_everything)),
            asyncio.create_task(writer.execute(lambda c: insert("after", c))),
        ]
        await asyncio.sleep(0)
        go_on.set()
        for result in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(result, StoreError)
        assert stored(tmp_path) == []
        await writer.execute(lambda c: insert("next", c))
        assert stored(tmp_path) == ["next"]


async def test_another_writers_lock_is_trouble_that_passes(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, connection):
        await writer.execute(lambda c: c.execute("PRAGMA busy_timeout = 1"))
        with contextlib.closing(open_writer(tmp_path / "q.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                await writer.execute(lambda c: insert("lost", c))
            other.execute("ROLLBACK")
        assert await writer.execute(lambda c: insert("kept", c)) == "kept"
        assert connection.commits == 2


async def test_the_operation_of_a_cancelled_caller_is_executed_all_the_same(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _):
        go_on = await held_back(writer)
        call = asyncio.create_task(writer.execute(lambda c: insert("cancelled", c)))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait((call,))
        go_on.set()
        await writer.execute(lambda c: insert("next", c))
        assert stored(tmp_path) == ["cancelled", "next"]


async def test_closing_finishes_what_is_queued_and_refuses_the_rest(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _):
        go_on = await held_back(writer)
        calls = [asyncio.create_task(writer.execute(lambda c: insert("x", c))) for _ in range(3)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(writer.close())
        await asyncio.sleep(0)
        go_on.set()
        assert await asyncio.gather(*calls) == ["x"] * 3
        await closing
        await writer.close()
        with pytest.raises(StoreError, match="has been closed"):
            await writer.execute(lambda c: insert("late", c))
    assert stored(tmp_path) == ["x"] * 3
    assert not (tmp_path / "q.db-wal").exists()


async def test_closing_empties_the_log_while_another_process_has_the_file_open(tmp_path: Path) -> None:
    async with writing(tmp_path) as (writer, _):
        await writer.execute(lambda c: insert("x", c))
        with contextlib.closing(open_reader(tmp_path / "q.db")) as other:
            assert other.execute("SELECT count(*) FROM worker_taskdata").fetchone() == (1,)
            assert (tmp_path / "q.db-wal").stat().st_size > 0
            await writer.close()
            assert (tmp_path / "q.db-wal").stat().st_size == 0


async def test_no_operation_can_end_the_writing_thread(tmp_path: Path) -> None:
    def end_the_transaction(connection: sqlite3.Connection) -> None:
        connection.rollback()
        raise ZeroDivisionError

    async with writing(tmp_path) as (writer, _):
        with pytest.raises(StoreError):
            await writer.execute(end_the_transaction)
        assert await writer.execute(lambda connection: insert("after", connection)) == "after"
