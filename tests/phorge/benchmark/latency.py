"""How long a task waits that was queued just after one that fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from phorge.support.background import Background
from phorge.support.install import Phorge
from support.waiting import until_true

HELD = "(held)"
LIMIT = 60.0


async def behind_a_failure(phorge: Phorge, count: int, start: Callable[[Path], Background], log: str) -> list[float]:
    """Seconds, of so many pairs, until the good one is archived."""
    phorge.queue.clear()
    good = ["SuiteNoteWorker", {"file": str(phorge.folder / "latency")}, {"priority": 2000}]
    bad = ["SuiteDefaultWaitWorker", {}, {"priority": 1000}]
    ids: list[int] = phorge.script("enqueue", tasks=[bad, good], count=count)
    phorge.queue.run("UPDATE worker_activetask SET leaseOwner = %s, leaseExpires = UNIX_TIMESTAMP() + 86400", HELD)
    with start(phorge.folder / log) as running:
        await _is_up(phorge, running)
        return [await _one(phorge, *ids[at : at + 2]) for at in range(0, len(ids), 2)]


async def _is_up(phorge: Phorge, running: Background) -> None:
    [first] = phorge.enqueue("SuiteExactWorker", 9_007_199_254_740_993)
    await _archived(phorge, first)
    running.assert_runs()


async def _one(phorge: Phorge, bad: int, good: int) -> float:
    began = time.perf_counter()
    phorge.queue.run("UPDATE worker_activetask SET leaseOwner = NULL, leaseExpires = NULL WHERE id IN %s", [bad, good])
    await _archived(phorge, good)
    return time.perf_counter() - began


async def _archived(phorge: Phorge, task: int) -> None:
    async def is_so() -> bool:
        return bool(phorge.queue.run("SELECT id FROM worker_archivetask WHERE id = %s", task))

    await until_true(is_so, within=LIMIT, what=f"task {task} is archived")
