"""Tasks a second, with a queue and without."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

from phorge.benchmark.workload import TASK_CLASS, Workload, enqueue
from phorge.support.background import Background
from phorge.support.install import Phorge
from support.leases import lease_of

from gorge_worker.backends.php_runner.launching import Launch
from gorge_worker.backends.php_runner.pool import RunnerPool
from gorge_worker.model import Verdict

POOL = 2
"""Processes of PHP that execute tasks."""
LOOK_EVERY = 0.05
LIMIT = 300.0
SERIAL = itertools.count()


async def with_queue(
    phorge: Phorge,
    workload: Workload,
    phids: list[str],
    count: int,
    start: Callable[[Path], Background],
) -> float:
    """Tasks a second of what `start` starts. A quarter more tasks come first, so that everything is under way."""
    phorge.queue.clear()
    enqueue(phorge, workload, phids, count + count // 4)
    with start(phorge.folder / f"benchmark-{next(SERIAL)}.log") as running:
        first = await _remaining(phorge, count, running)
        last = await _remaining(phorge, 0, running)
    phorge.queue.executed()
    return (first[0] - last[0]) / (last[1] - first[1])


async def _remaining(phorge: Phorge, most: int, running: Background) -> tuple[int, float]:
    """Waits until no more tasks than these are active: how many they are, and when."""
    end = time.perf_counter() + LIMIT
    while (count := phorge.queue.count("activetask")) > most:
        running.assert_runs()
        assert time.perf_counter() < end, f"{count} tasks are left after {LIMIT} s"
        # Seldom: what is measured has two cores, and the database is part of it.
        await asyncio.sleep(LOOK_EVERY)
    return count, time.perf_counter()


async def without_queue(root: Path, workload: Workload, phids: list[str], count: int) -> float:
    """Tasks a second of as many runners that are told what to execute by nobody else."""
    pool = RunnerPool(Launch(root=root, max_tasks=1_000_000), most=POOL, idle=600)
    texts = [json.dumps(data) for data in workload.data(phids)]
    try:
        await _execute(pool, texts, count // 4)
        began = time.perf_counter()
        await _execute(pool, texts, count)
        return count / (time.perf_counter() - began)
    finally:
        await pool.close()


async def _execute(pool: RunnerPool, texts: list[str], count: int) -> None:
    left = iter(range(count))

    async def one_after_the_other() -> None:
        for number in left:
            outcome = await pool.execute(lease_of(TASK_CLASS, texts[number % len(texts)]))
            assert outcome.verdict is Verdict.SUCCESS, outcome

    await asyncio.gather(*(one_after_the_other() for _ in range(POOL)))
