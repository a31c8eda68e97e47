"""How much memory a process of PHP needs, at first and after many tasks."""

from __future__ import annotations

import json
import os
from pathlib import Path

from phorge.benchmark.workload import TASK_CLASS, Workload, enqueue
from phorge.support.executing import taskmasters
from phorge.support.install import Phorge
from phorge.support.processes import children, command_of, memory
from support.leases import lease_of
from support.waiting import until_true

from gorge_worker.backends.php_runner.launching import Launch
from gorge_worker.backends.php_runner.pool import RunnerPool
from gorge_worker.model import Verdict

STEPS = (50, 1_000, 5_000)
"""After how many tasks a runner is looked at. 50 are what a taskmaster is looked at after."""


async def of_a_runner(root: Path, workload: Workload, phids: list[str]) -> dict[int, float]:
    """Tasks executed -> MiB of one runner."""
    pool = RunnerPool(Launch(root=root, max_tasks=1_000_000, max_rss_mb=4096), most=1, idle=600)
    texts = [json.dumps(data) for data in workload.data(phids)]
    found: dict[int, float] = {}
    try:
        for number in range(STEPS[-1]):
            outcome = await pool.execute(lease_of(TASK_CLASS, texts[number % len(texts)]))
            assert outcome.verdict is Verdict.SUCCESS, outcome
            if number + 1 in STEPS:
                [runner] = [pid for pid in children(os.getpid()) if "gorge-worker runner:" in command_of(pid)]
                found[number + 1] = memory(runner)
    finally:
        await pool.close()
    return found


async def of_a_taskmaster(phorge: Phorge, workload: Workload, phids: list[str]) -> tuple[float, float]:
    """MiB of a taskmaster after 50 tasks, and of the overseer that it needs."""
    phorge.queue.clear()
    enqueue(phorge, workload, phids, STEPS[0])
    with taskmasters(phorge, phorge.folder / "memory.log") as running:

        async def done() -> bool:
            return phorge.queue.count("activetask") == 0

        await until_true(done, within=60)
        overseer = running.process.pid
        [daemon] = [pid for pid in children(overseer) if "exec_daemon" in command_of(pid)]
        return memory(daemon), memory(overseer)
