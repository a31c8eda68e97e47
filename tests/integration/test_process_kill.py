"""Processes that are killed, stopped and started again in the middle of their work."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from support.process import UP, Lab
from support.waiting import until

LOAD = "Async"


async def enqueue(lab: Lab, count: int) -> list[int]:
    """So many tasks, ten calls at a time."""
    ids: list[int] = []
    for start in range(0, count, 10):
        calls = [lab.enqueue(LOAD) for _ in range(min(10, count - start))]
        ids += await asyncio.gather(*calls)
    return sorted(ids)


async def executions(lab: Lab, count: int) -> None:
    await until(lambda: lab.executed().total() >= count, within=UP, what=f"{count} executions")


@pytest.mark.limit(60)
async def test_standalone_killed_in_mid_load_loses_nothing_and_repeats_only_what_was_running(tmp_path: Path) -> None:
    kills = 2
    async with Lab(tmp_path) as lab:
        # Two seconds less count at the worker, and a task must not outlive its lease on a busy machine.
        settings = {"LEASE_DURATION": "6", "MAX_WORKERS": "8"}
        standalone = await lab.standalone(**settings)
        tasks = await enqueue(lab, 300)
        for _ in range(kills):
            done = lab.executed().total()
            await executions(lab, done + 20)
            await standalone.kill()
            assert lab.executed().keys() < set(tasks), "killed in the middle"
            standalone = await lab.standalone(**settings)
        await lab.archived(len(tasks), within=30)
        executed = lab.executed()
        assert sorted(executed) == tasks
        assert max(executed.values()) <= 1 + kills
        assert (await lab.stats())["failedCount"] == 0


@pytest.mark.limit(60)
async def test_a_queue_killed_in_mid_load_has_every_task_executed_once(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        queue = await lab.queue()
        tasks = await enqueue(lab, 200)
        worker = await lab.worker(MAX_WORKERS="8", LEASE_LIMIT="8")
        await executions(lab, 50)
        await queue.kill()
        assert lab.executed().keys() < set(tasks), "killed in the middle"
        await worker.logged("no lease, the queue is asked again")
        await lab.queue()
        await lab.archived(len(tasks), within=30)
        assert lab.executed() == dict.fromkeys(tasks, 1)
        assert await worker.terminate() == 0


@pytest.mark.limit(60)
async def test_a_queue_that_stops_answering_for_a_while_has_every_task_executed_once(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        queue = await lab.queue()
        tasks = await enqueue(lab, 200)
        worker = await lab.worker(MAX_WORKERS="8", LEASE_LIMIT="8")
        await executions(lab, 50)
        queue.signal(signal.SIGSTOP)
        await asyncio.sleep(3)  # the length of the stop, nothing waits for it
        assert lab.executed().keys() < set(tasks), "stopped in the middle"
        queue.signal(signal.SIGCONT)
        await lab.archived(len(tasks), within=30)
        assert lab.executed() == dict.fromkeys(tasks, 1)
        assert await worker.terminate() == 0


async def test_a_killed_worker_s_tasks_are_executed_by_another_one(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.queue(LEASE_DURATION="4")
        killed = await lab.worker(MAX_WORKERS="2")
        tasks = [await lab.enqueue("Waits") for _ in range(2)]
        await lab.executing(*tasks)
        await killed.kill()
        lab.release()
        await lab.worker()
        await lab.archived(len(tasks))
        assert lab.executed() == dict.fromkeys(tasks, 2)


@pytest.mark.limit(60)
async def test_workers_on_the_file_and_over_http_share_one_queue(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.queue()
        direct = await lab.worker(lab.store)
        remote = await lab.worker(MAX_WORKERS="1")
        tasks = await enqueue(lab, 150)
        await lab.archived(len(tasks), within=20)
        assert lab.executed() == dict.fromkeys(tasks, 1)
        for worker in (direct, remote):
            assert worker.events("task executed", outcome="success")
            assert await worker.terminate() == 0


async def test_a_worker_that_was_stopped_beyond_the_end_of_its_lease_changes_nothing(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.queue()
        stopped = await lab.worker(lab.store, LEASE_DURATION="4")
        task_id = await lab.enqueue("Waits")
        await lab.executing(task_id)
        stopped.signal(signal.SIGSTOP)
        other = await lab.worker(lab.store)
        await until(lambda: lab.executed() == {task_id: 2}, within=UP, what="the other worker has it")
        leased = await lab.task(task_id)
        stopped.signal(signal.SIGCONT)
        await stopped.logged("lease lost, nothing is reported", task=task_id)
        assert (await lab.task(task_id))["leaseOwner"] == leased["leaseOwner"]
        lab.release()
        await lab.archived(1)
        assert (await other.logged("task executed", task=task_id))["outcome"] == "success"
        assert (await lab.stats())["failedCount"] == 0
