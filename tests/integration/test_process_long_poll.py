"""A worker and a queue server as two processes, seen by a gateway between them."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from pathlib import Path

from support.command import run
from support.go_queue import GoServer, ShiftedClock
from support.process import QUEUE_TOKEN, Lab, url
from support.process_gateway import Gateway
from support.waiting import until, until_true

from gorge_worker.queues.store import YIELD_OWNER


async def is_free(lab: Lab, task_id: int) -> bool:
    """Whether the task is executed, or no worker's, be it that it was put off."""
    owner: str = (await lab.task(task_id)).get("leaseOwner", YIELD_OWNER)
    return owner == YIELD_OWNER


async def test_an_idle_worker_asks_once_and_starts_a_task_when_it_is_enqueued(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab, Gateway(lab.queue_port) as gateway:
        await lab.queue()
        await lab.worker(url(gateway.port), POLL_INTERVAL_MS="20")
        await until(lambda: gateway.waiting, what="a lease call that waits")
        asked = len(gateway.leases)
        settings = {"TASK_QUEUE_URL": lab.queue_url, "TASK_QUEUE_TOKEN": QUEUE_TOKEN}
        # A process that starts, connects and ends takes far longer than POLL_INTERVAL_MS.
        assert (await run("enqueue", "Waits", settings=settings)).code == 0
        await lab.executing(1)
        assert len(gateway.leases) <= asked + 1, "the call that waited has brought the task"
        lab.release()
        await lab.archived(1)


async def test_a_shutdown_during_a_long_poll_is_over_at_once_and_strands_nothing(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab, Gateway(lab.queue_port) as gateway:
        await lab.queue()
        worker = await lab.worker(url(gateway.port))
        await until(lambda: gateway.waiting, what="a lease call that waits")
        assert await worker.terminate() == 0
        assert gateway.waiting == [gateway.leases[-1]], "it did not wait for the answer"
        task_id = await lab.enqueue("Sync")
        assert "leaseOwner" not in await lab.task(task_id)
        assert (await lab.stats())["leasedCount"] == 0
        await lab.worker()
        await lab.archived(1)


async def test_a_queue_server_leaves_at_once_during_a_long_poll_and_the_worker_comes_back_to_the_next(
    tmp_path: Path,
) -> None:
    async with Lab(tmp_path) as lab, Gateway(lab.queue_port) as gateway:
        queue = await lab.queue()
        worker = await lab.worker(url(gateway.port))
        await until(lambda: gateway.waiting, what="a lease call that waits")
        assert await queue.terminate() == 0
        await lab.queue()
        await lab.enqueue("Sync")
        await lab.archived(1)
        assert await worker.terminate() == 0


async def test_a_task_enqueued_at_the_end_of_a_worker_is_executed_or_free(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await lab.queue()
        for _ in range(5):
            worker = await lab.worker()
            worker.signal(signal.SIGTERM)
            task_id, _ = await asyncio.gather(lab.enqueue("Sync"), worker.code())
            await until_true(partial(is_free, lab, task_id), what="the task is executed, or nobody's")


async def test_tasks_of_a_lease_answer_that_was_cut_off_are_executed_soon(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab, Gateway(lab.queue_port) as gateway:
        await lab.queue()
        tasks = [await lab.enqueue("Sync") for _ in range(4)]
        gateway.cuts = 1
        worker = await lab.worker(url(gateway.port))
        await lab.archived(len(tasks))
        assert (gateway.cuts, lab.executed()) == (0, dict.fromkeys(tasks, 1))
        assert await worker.terminate() == 0


async def test_tasks_of_a_cut_off_answer_of_the_go_server_are_executed_soon(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab, GoServer(ShiftedClock()) as server:
        tasks = [server.table.enqueue("Sync").id for _ in range(10)]
        async with Gateway(int(server.url.rpartition(":")[2])) as gateway:
            gateway.cuts = 1
            worker = await lab.worker(url(gateway.port), POLL_INTERVAL_MS="50")
            await until(lambda: not server.table.active(), within=12, what="all are archived")
            assert (gateway.cuts, lab.executed()) == (0, dict.fromkeys(tasks, 1))
            assert await worker.terminate() == 0


async def test_a_shutdown_leaves_nothing_leased_at_the_go_server(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab, GoServer(ShiftedClock()) as server:
        for number in range(20):
            row = server.table.enqueue("Waits")
            if number % 2:  # due: so the server leases more than it shows
                row.owner, row.expires = "a worker that was killed", 1
        worker = await lab.worker(server.url, MAX_WORKERS="4", LEASE_LIMIT="2")
        await until(lambda: lab.executed().total() == 4, what="all slots are taken")
        worker.signal(signal.SIGTERM)
        await worker.logged("draining")
        lab.release()
        assert await worker.code() == 0
        assert not server.table.stranded()
        assert lab.executed().total() == 4


async def test_a_queue_that_is_not_there_yet_is_waited_for_and_named_once(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        worker = await lab.worker()
        await worker.logged("no lease, the queue is asked again")
        await lab.queue()
        await lab.enqueue("Sync")
        await lab.archived(1)
        assert len(worker.events("no lease, the queue is asked again", level="warning")) == 1
