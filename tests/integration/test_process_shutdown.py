"""How a worker leaves: with the exit code, the log and the queue as they must be then."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.process import Lab

from gorge_worker.queues.store import YIELD_OWNER


async def ask_queue(lab: Lab, kind: str) -> None:
    """After standalone's end its store is served by another process."""
    if kind == "standalone":
        await lab.queue()


BOTH = pytest.mark.parametrize("kind", ["run", "standalone"])


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_running_handler_finishes_and_nothing_new_is_started(
    tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    async with Lab(tmp_path) as lab:
        worker = await lab.worker_of(kind, MAX_WORKERS="1")
        running = await lab.enqueue("Waits")
        await lab.executing(running)
        worker.signal(number)
        await worker.logged("draining", running=1)
        late = await lab.enqueue("Sync")
        lab.release()
        assert await worker.code() == 0
        await ask_queue(lab, kind)
        assert await lab.task(running) == {}
        assert "leaseOwner" not in await lab.task(late)
        assert lab.executed() == {running: 1}


@BOTH
async def test_a_handler_that_hangs_in_a_thread_is_cut_at_the_deadline_and_fails_for_now(
    tmp_path: Path, kind: str
) -> None:
    async with Lab(tmp_path) as lab:
        worker = await lab.worker_of(kind, DRAIN_TIMEOUT_SEC="1")
        hanging = await lab.enqueue("Hangs")
        await lab.executing(hanging)
        assert await worker.terminate() == 1
        assert worker.events("task cut by the shutdown", task=hanging, task_class="Hangs")
        await ask_queue(lab, kind)
        row = await lab.task(hanging)
        assert row["failureCount"] == 1
        assert row["leaseExpires"] - row["dateModified"] == 300


@BOTH
async def test_a_second_signal_cuts_at_once(tmp_path: Path, kind: str) -> None:
    async with Lab(tmp_path) as lab:
        worker = await lab.worker_of(kind, DRAIN_TIMEOUT_SEC="3600")
        hanging, waiting = [await lab.enqueue(name) for name in ("Hangs", "Waits")]
        await lab.executing(hanging, waiting)
        worker.signal(signal.SIGTERM)
        await worker.logged("draining")
        worker.signal(signal.SIGTERM)
        assert await worker.code() == 1
        assert {line["task"] for line in worker.events("task cut by the shutdown")} == {hanging, waiting}
        await ask_queue(lab, kind)
        assert (await lab.task(hanging))["failureCount"] == 1
        cut_cleanly = await lab.task(waiting)
        assert (cut_cleanly["failureCount"], cut_cleanly["leaseOwner"]) == (0, YIELD_OWNER)


async def test_a_third_signal_ends_a_process_that_does_not_listen_to_the_second(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        queue = await lab.queue()
        worker = await lab.worker(DRAIN_TIMEOUT_SEC="3600")
        hanging = await lab.enqueue("Hangs")
        await lab.executing(hanging)
        queue.signal(signal.SIGSTOP)  # so that the failure can't be reported
        for times in (1, 2, 3):
            worker.signal(signal.SIGTERM)
            await worker.logged("signal", times=times)
        assert await worker.code() == 1


async def test_a_worker_whose_queue_is_gone_leaves_all_the_same_and_names_what_it_could_not_report(
    tmp_path: Path,
) -> None:
    async with Lab(tmp_path) as lab:
        queue = await lab.queue()
        worker = await lab.worker(DRAIN_TIMEOUT_SEC="1")
        task_id = await lab.enqueue("Waits")
        await lab.executing(task_id)
        await queue.kill()
        lab.release()
        await worker.logged("task executed", task=task_id)
        assert await worker.terminate() == 1
        assert worker.events("task not reported, its lease has to run out", task=task_id)


async def test_a_handler_that_blocks_the_event_loop_is_named(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        standalone = await lab.standalone()
        blocking = await lab.enqueue("Blocks")
        line = await standalone.logged("the event loop is blocked, nothing else can run")
        lab.release()
        assert line["running"] == f"task {blocking} Blocks"
        assert "our_handlers.py" in line["where"]
        await lab.archived(1)
        assert await standalone.terminate() == 0
