"""A process that is killed in the middle of its work loses nothing acknowledged, and leaves nothing half-done."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections import Counter
from pathlib import Path

import pytest
from stores import crashing
from stores.factories import LASTING, STORES, Place, add, lease, params

from gorge_worker.clock import SystemClock
from gorge_worker.queues.store import NoSuchTask, TaskStore

ROOT = Path(__file__).parents[2]
LIMIT = 100_000


async def killed_after(lines: int, name: str, folder: Path) -> list[list[str]]:
    """What a loading process has said by the time it is killed."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        crashing.__file__,
        name,
        str(folder),
        env={**os.environ, "PYTHONPATH": path},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    said: list[bytes] = []
    try:
        while len(said) < lines or not any(line.startswith(b"done") for line in said):
            line = await process.stdout.readline()
            assert line, "the process has ended by itself"
            said.append(line)
    finally:
        process.kill()
    rest = await process.stdout.read()
    await process.wait()
    whole = [*said, *(line for line in rest.splitlines(keepends=True) if line.endswith(b"\n"))]
    return [line.decode().split(maxsplit=2) if line.startswith(b"done") else line.decode().split() for line in whole]


async def is_active(store: TaskStore, task_id: int) -> bool:
    try:
        await store.task(task_id)
    except NoSuchTask:
        return False
    return True


@pytest.mark.limit(60)
@pytest.mark.parametrize("name", params(LASTING))
@pytest.mark.parametrize("lines", [20, 150, 600])
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_done(name: str, lines: int, tmp_path: Path) -> None:
    async with Place(STORES[name], tmp_path).open():
        """A server that the store needs is this process's: it must outlive the one that is killed."""
    said = await killed_after(lines, name, tmp_path)
    added = {int(task_id) for line in said if line[0] == "added" for task_id in line[1:]}
    done = {int(line[1]): line[2].strip() for line in said if line[0] == "done"}
    failed = {int(line[1]): int(line[2]) for line in said if line[0] == "failed"}
    assert added
    assert done
    store = await STORES[name](tmp_path, SystemClock())
    try:
        stats = await store.stats()
        active = {task.id: task for task in await store.active_tasks(limit=LIMIT, offset=0)}
        assert len(active) == stats.active
        assert not set(done) & set(active)
        for task_id, count in failed.items():
            assert (active[task_id].failure_count, active[task_id].lease_owner) == (count, "(retry)")
        parents = [task for task in active.values() if task.task_class == "Parent"]
        # Every task is either active or archived, and every archived parent has its two children, no more, no less.
        archived = added - set(active)
        children = Counter([task.data for task in await lease(store, LIMIT, "me", "Child")])
        assert set(children.values()) <= {2}
        assert set(done.values()) <= set(children)
        assert len(children) == stats.archived
        assert len(active) == len(parents) + 2 * stats.archived
        for task_id in archived:
            assert crashing.mark(task_id) in children, f"task {task_id} was acknowledged and is nowhere"
        [fresh] = await add(store)
        assert fresh > max(*active, *added, *done)
    finally:
        await store.close()


async def test_a_sqlite_file_is_sound_after_a_kill(tmp_path: Path) -> None:
    await killed_after(100, "sqlite", tmp_path)
    async with Place(STORES["sqlite"], tmp_path).open() as store:
        await store.stats()
    connection = sqlite3.connect(tmp_path / "queue.db")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        orphans = "SELECT count(*) FROM worker_activetask WHERE dataID NOT IN (SELECT id FROM worker_taskdata)"
        assert connection.execute(orphans).fetchone() == (0,)
        doubles = "SELECT count(*) FROM worker_activetask WHERE id IN (SELECT id FROM worker_archivetask)"
        assert connection.execute(doubles).fetchone() == (0,)
    finally:
        connection.close()
