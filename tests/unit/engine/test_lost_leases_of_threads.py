"""A lease that is lost while a thread, which nothing can stop, executes its task. In real time, on real threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from structlog.testing import capture_logs
from support.leases import FixedClock
from support.memory_queue import CLASS, Bench
from support.renewing import RENEWS
from support.waiting import until

from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import marking_of, task_handler
from gorge_worker.handlers.threaded import ThreadHandler


class Stuck:
    """A function that blocks its thread until it is told to go on."""

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()

    def __call__(self, _: TaskContext) -> None:
        self.began.set()
        assert self.go_on.wait(15)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    function = Stuck()
    yield function
    function.go_on.set()


@pytest.mark.parametrize("how", ["the queue is silent", "taken away"])
async def test_it_keeps_its_slot_until_the_thread_returns_and_reports_nothing(stuck: Stuck, how: str) -> None:
    marking = marking_of(task_handler(CLASS)(stuck))
    assert marking is not None
    with ThreadPoolExecutor(1) as executor:
        handler = ThreadHandler(stuck, marking, FixedClock(), executor)
        async with Bench({CLASS: handler}, features=RENEWS, lease_seconds=2, max_workers=1) as bench:  # type: ignore[dict-item]
            task_id = bench.queue.add()
            with capture_logs() as logs:
                bench.start()
                await until(stuck.began.is_set)
                bench.queue.down = how == "the queue is silent"
                bench.queue.take_away(task_id)
                await until(lambda: [held.is_lost for held in bench.worker._held] == [True], what="the loss is noticed")
                bench.queue.available_at.clear()
                bench.queue.down = False
                assert (bench.worker.stats.active, bench.worker._slots.free) == (1, 0)
                stuck.go_on.set()
                await until(lambda: bench.worker._slots.free == 1, what="the slot is free")
            assert (bench.worker.stats.active, len(bench.worker._held)) == (0, 0)
            assert bench.queue.report_tries == []
            assert [line["event"] for line in logs].count("lease lost, nothing is reported") == 1
