from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from stores.factories import STORES, Place, add_many, new
from support.waiting import until

from gorge_worker.queues.retention import RETENTION
from gorge_worker.queues.sqlite import garbage


def counts(folder: Path) -> tuple[int, int]:
    """Rows in the archive, and of data."""
    with closing(sqlite3.connect(folder / "queue.db")) as other:
        [archived] = other.execute("SELECT count(*) FROM worker_archivetask").fetchone()
        [data] = other.execute("SELECT count(*) FROM worker_taskdata").fetchone()
        return archived, data


async def test_archived_tasks_go_after_a_fortnight_with_their_data_in_several_batches(tmp_path: Path) -> None:
    place = Place(STORES["sqlite"], tmp_path)
    async with place.open() as store:
        old = await add_many(store, 2 * garbage.BATCH + 5)
        for task_id in old:
            await store.cancel(task_id)
        place.clock.epoch += RETENTION
        recent, active = await add_many(store, 2)
        await store.complete(recent, 1)
    async with place.open() as store:
        assert counts(tmp_path) == (len(old) + 1, len(old) + 2), "in the last second they are still kept"
        place.clock.epoch += 1
    async with place.open() as store:
        await until(lambda: counts(tmp_path) == (1, 2), what="the old tasks and their data are gone")
        assert (await store.task(active)).data == "{}"
        [fresh] = await add_many(store, 1)
        assert fresh > active, "ids are not used again"


async def test_the_ids_of_data_are_not_used_again_either(tmp_path: Path) -> None:
    place = Place(STORES["sqlite"], tmp_path)
    async with place.open() as store:
        [old] = await store.enqueue([new()])
        await store.cancel(old.id)
        place.clock.epoch += RETENTION + 1
    async with place.open() as store:
        await until(lambda: counts(tmp_path) == (0, 0), what="the old task and its data are gone")
        [fresh] = await store.enqueue([new()])
        assert fresh.data_id > old.data_id
