"""Rows that another program has written nonsense into are their own trouble."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from stores.factories import STORES, Place, add, add_many, lease, leased_ids, new, report_of
from structlog.testing import capture_logs

from gorge_worker.model import Outcome
from gorge_worker.queues.protocol import ANY, Receipt
from gorge_worker.queues.rows import BROKEN_OWNER, BROKEN_REST

BROKEN: dict[str, tuple[str, Any]] = {
    "negative priority": ("priority", -1),
    "huge priority": ("priority", 2**40),
    "priority is text": ("priority", "high"),
    "priority is a fraction": ("priority", 1.5),
    "class is empty": ("taskClass", ""),
    "class is a blob": ("taskClass", b"A"),
    "failures are text": ("failureCount", "many"),
    "negative failures": ("failureCount", -3),
    "failure time is text": ("failureTime", "yesterday"),
    "no data": ("dataID", 999),
    "data id is text": ("dataID", "x"),
    "phid is a blob": ("objectPHID", b"\xff\xfe"),
    "negative creation": ("dateCreated", -5),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(STORES["sqlite"], tmp_path)


def write(place: Place, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(place.folder / "queue.db")) as other:
        other.execute(statement, values)
        other.commit()


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("kind", ["new", "due"])
async def test_a_broken_row_is_set_aside_and_its_neighbours_are_leased(place: Place, name: str, kind: str) -> None:
    column, value = BROKEN[name]
    async with place.open() as store:
        before, broken, after = await add_many(store, 3)
        if kind == "due":
            for task_id in (before, broken, after):
                await store.yield_task(task_id, 5)
            place.clock.epoch += 10
        write(place, f"UPDATE worker_activetask SET {column} = ? WHERE id = ?", value, broken)
        with capture_logs() as logs:
            assert sorted(await leased_ids(store, 3)) == [before, after]
            assert await lease(store, 3) == []
        assert [(entry["event"], entry["task"]) for entry in logs] == [
            ("a broken row is set aside: repair or cancel it", broken)
        ]
        assert str(value) in logs[0]["reason"] or column in logs[0]["reason"] or "worker_taskdata" in logs[0]["reason"]
        assert (await store.task(broken)).lease_owner == BROKEN_OWNER
        assert {task.id for task in await store.active_tasks(limit=9, offset=0)} == {before, broken, after}
        assert (await store.cancel(broken)).task.id == broken
        assert (await store.stats()).active == 2


async def test_a_repaired_row_comes_back_by_itself(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        write(place, "UPDATE worker_activetask SET priority = -1")
        assert await lease(store) == []
        write(place, "UPDATE worker_activetask SET priority = 5")
        place.clock.epoch += BROKEN_REST + 1
        assert await leased_ids(store) == [task_id]


@pytest.mark.parametrize("data", ["x'fffe'", "CAST(x'ff' AS TEXT)"])
async def test_data_that_is_not_text_is_that_rows_trouble(place: Place, data: str) -> None:
    async with place.open() as store:
        broken, good = await add_many(store, 2)
        write(place, f"UPDATE worker_taskdata SET data = {data} WHERE id = ?", broken)
        assert await leased_ids(store, 2) == [good]
        assert (await store.task(broken)).data == ""


async def test_a_class_that_is_not_utf8_spoils_no_listing(place: Place) -> None:
    async with place.open() as store:
        broken, good = await add_many(store, 2)
        write(place, "UPDATE worker_activetask SET taskClass = CAST(x'ff' AS TEXT) WHERE id = ?", broken)
        assert [task.task_class for task in await store.active_tasks(limit=2, offset=0)] == ["", "ExampleWorker"]
        assert await leased_ids(store, 2) == [good]


async def test_nonsense_that_a_lease_overwrites_does_not_matter(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        write(place, "UPDATE worker_activetask SET leaseOwner = x'ff', leaseExpires = -7, dateModified = 'x'")
        [task] = await lease(store)
        assert task.id == task_id
        [result] = await store.report([report_of(task, Outcome.success())])
        assert result.receipt is Receipt.ACCEPTED


async def test_an_expiry_that_is_no_number_is_never_due_and_disturbs_nobody(place: Place) -> None:
    async with place.open() as store:
        odd, empty, good = await add_many(store, 3)
        write(place, "UPDATE worker_activetask SET leaseOwner = 'x', leaseExpires = 'soon' WHERE id = ?", odd)
        write(place, "UPDATE worker_activetask SET leaseOwner = 'x', leaseExpires = NULL WHERE id = ?", empty)
        assert await leased_ids(store, 3) == [good]
        assert await store.next_due(ANY) == place.now + 7201
        await store.complete(good, 1)
        assert await store.next_due(ANY) is None
        assert [task.lease_expires for task in await store.active_tasks(limit=9, offset=0)] == [None, None]


async def test_a_priority_that_is_text_sorts_after_all_numbers_with_a_class_filter_too(place: Place) -> None:
    async with place.open() as store:
        broken, low, high = await add(store, new("A"), new("A", priority=2**32 - 1), new("B", priority=1))
        write(place, "UPDATE worker_activetask SET priority = 'high' WHERE id = ?", broken)
        assert await leased_ids(store, 2, "me", "A", "B") == [high, low]


async def test_a_row_without_an_owner_is_delayed_as_bin_worker_delay_does_it(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        write(place, "UPDATE worker_activetask SET leaseExpires = ?", place.now + 60)
        assert await lease(store) == []
        assert await store.next_due(ANY) == place.now + 60
        place.clock.epoch += 60
        assert await leased_ids(store) == [task_id]


async def test_an_id_out_of_range_is_set_aside(place: Place) -> None:
    async with place.open() as store:
        huge, negative, good = await add_many(store, 3)
        write(place, "UPDATE worker_activetask SET id = ? WHERE id = ?", 2**40, huge)
        write(place, "UPDATE worker_activetask SET id = ? WHERE id = ?", -5, negative)
        assert await leased_ids(store, 3) == [good]
        assert (await store.cancel(2**40)).task.id == 2**40
        assert (await store.cancel(-5)).task.id == -5


async def test_more_broken_rows_than_one_lease_looks_at_block_nothing_for_good(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gorge_worker.queues.sqlite.leasing.MAX_BROKEN", 4)
    async with place.open() as store:
        *_, good = await add_many(store, 10)
        write(place, "UPDATE worker_activetask SET failureCount = -1 WHERE id < ?", good)
        got = [await leased_ids(store) for _ in range(3)]
        assert got == [[], [], [good]]


async def test_a_report_that_can_not_be_written_harms_no_other(place: Place) -> None:
    """Its id is in the archive already: another program has put it there."""
    async with place.open() as store:
        await add_many(store, 3)
        tasks = await lease(store, 3)
        write(
            place,
            "INSERT INTO worker_archivetask (id, taskClass, failureCount, dataID, priority, dateCreated, dateModified, "
            "result, duration) SELECT id, taskClass, 0, dataID, 0, 0, dateModified, 0, 0 FROM worker_activetask "
            "WHERE id = ?",
            tasks[1].id,
        )
        results = await store.report([report_of(task, Outcome.success((new("Child"),))) for task in tasks])
        assert [result.receipt for result in results] == [Receipt.ACCEPTED, Receipt.TROUBLE, Receipt.ACCEPTED]
        assert await store.task(tasks[1].id) == tasks[1]
        assert (await store.stats()).active == 3
