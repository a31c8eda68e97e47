"""Everything in one process, as a new user starts it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import run
from support.process import QUEUE_TOKEN, Lab, address
from support.waiting import until_true


async def test_a_task_enqueued_by_the_command_is_executed_by_a_module_in_the_working_directory(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        standalone = await lab.standalone()
        settings = {"QUEUE_LISTEN_ADDR": address(lab.queue_port), "SERVICE_TOKEN": QUEUE_TOKEN}
        ended = await run("enqueue", "Sync", '{"a": 1}', settings=settings)
        assert (ended.code, ended.out) == (0, f"enqueued task 1 at http://{address(lab.queue_port)}\n")
        await lab.executing(1)
        await lab.archived(1)
        assert (await standalone.logged("task executed"))["outcome"] == "success"
        assert await standalone.terminate() == 0


async def test_sync_and_async_handlers_and_follow_up_tasks_are_executed(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.standalone(NOOP_CLASSES="Nothing")
        tasks = [await lab.enqueue(task_class) for task_class in ("Sync", "Async", "Parent", "Nothing")]
        await lab.archived(len(tasks) + 1)
        followup = max(tasks) + 1
        assert sorted(lab.executed().elements()) == [*tasks[:3], followup]
        assert await lab.stats() == {"activeCount": 0, "leasedCount": 0, "archivedCount": 5, "failedCount": 0}


async def test_each_way_to_end_leaves_its_task_as_the_queue_shows_it(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.standalone()
        failed, yielded, retried = [await lab.enqueue(name) for name in ("FailsForGood", "Yields", "Raises")]

        async def have_ended() -> bool:
            rows = [await lab.task(task_id) for task_id in (failed, yielded, retried)]
            return not rows[0] and rows[1].get("leaseOwner") == "(yield)" and rows[2]["failureCount"] == 1

        await until_true(have_ended, what="archived, yielded and failed")
        assert (await lab.stats())["failedCount"] == 1
        assert (await lab.task(yielded))["failureCount"] == 0
        for task_id, wait in ((yielded, 60), (retried, 300)):
            row = await lab.task(task_id)
            assert row["leaseExpires"] - row["dateModified"] == wait
        assert set(lab.executed().values()) == {1}


@pytest.mark.parametrize("kind", ["run", "standalone"])
async def test_a_task_that_waits_is_not_starved_by_a_stream_of_new_ones(tmp_path: Path, kind: str) -> None:
    async with Lab(tmp_path) as lab:
        await lab.worker_of(kind, MAX_WORKERS="1", LEASE_LIMIT="1")
        for _ in range(3):
            await lab.enqueue("Endless", priority=1)
        retried = await lab.enqueue("FailsOnce", priority=1)
        await until_true(lambda: _is_archived(lab, retried), what="the task is executed once more")
        assert lab.executed() == {retried: 2}
        assert (await lab.stats())["activeCount"] >= 3, "the stream goes on"


async def _is_archived(lab: Lab, task_id: int) -> bool:
    return not await lab.task(task_id)


async def test_the_shortest_lease_is_long_enough_to_execute_a_task(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        standalone = await lab.standalone(LEASE_DURATION="1")
        await lab.enqueue("Sync")
        await lab.archived(1)
        assert await standalone.terminate() == 0
