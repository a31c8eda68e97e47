"""Several processes on one database file."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

import pytest
from stores.factories import add_many, leased_ids, new
from support.waiting import until

from gorge_worker.clock import SystemClock
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]
CHILD = """
import asyncio, sys
from pathlib import Path
from gorge_worker.clock import SystemClock
from gorge_worker.queues.sqlite import SqliteStore
from stores.factories import add, lease, new

async def main(path, what, number):
    store = await SqliteStore.open(Path(path), retry_wait=300, clock=SystemClock())
    if what == "add":
        for _ in range(int(number)):
            print(*await add(store, new("Theirs")))
    while what == "drain" and (tasks := await lease(store, 3, f"process {number}")):
        print(*[task.id for task in tasks])
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def child(path: Path, what: str, number: int) -> list[int]:
    """Runs a process that adds so many tasks, or leases until nothing is left; returns their ids."""
    python_path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CHILD,
        str(path),
        what,
        str(number),
        env={**os.environ, "PYTHONPATH": python_path},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [int(word) for word in output.split()]


async def open_store(path: Path) -> SqliteStore:
    return await SqliteStore.open(path, retry_wait=300, clock=SystemClock())


@pytest.mark.limit(60)
async def test_processes_that_create_and_fill_one_file_at_once_never_share_an_id(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    ids = [task_id for ids in await asyncio.gather(*[child(path, "add", 40) for _ in range(3)]) for task_id in ids]
    assert len(ids) == len(set(ids)) == 120
    store = await open_store(path)
    assert (await store.stats()).active == 120
    await store.close()


@pytest.mark.limit(60)
async def test_processes_that_lease_at_once_never_get_the_same_task(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = await open_store(path)
    ids = await add_many(store, 200)
    mine: list[int] = []

    async def drain() -> None:
        while more := await leased_ids(store, 3, "this process"):
            mine.extend(more)

    _, *theirs = await asyncio.gather(drain(), child(path, "drain", 1), child(path, "drain", 2))
    assert sorted(sum(theirs, mine)) == ids
    await store.close()


@pytest.mark.limit(60)
async def test_a_waiting_lease_finds_a_task_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = await open_store(path)
    service = QueueService(store, lease_duration=100, clock=SystemClock(), rng=random.Random())
    waiting = asyncio.create_task(service.lease(owner="me", limit=1, classes=ClassFilter(("Theirs",)), wait=30))
    ids = await child(path, "add", 1)
    await until(waiting.done, within=5, what="the waiting lease is answered")
    assert [task.id for task in waiting.result()] == ids
    await service.close()


@pytest.mark.limit(60)
async def test_many_waiting_leases_and_tasks_at_once_on_a_real_file(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "queue.db")
    service = QueueService(store, lease_duration=100, clock=SystemClock(), rng=random.Random())
    waiting = [
        asyncio.create_task(service.lease(owner=f"owner {n}", limit=2, classes=ClassFilter(("AB"[n % 2],)), wait=30))
        for n in range(40)
    ]
    ids = [task.id for n in range(80) for task in await service.enqueue([new("AB"[n % 2])])]
    got = [task.id for tasks in await asyncio.gather(*waiting) for task in tasks]
    rest = await leased_ids(store, 100)
    assert sorted(got + rest) == ids
    assert all(task.done() and task.result() for task in waiting)
    await service.close()
