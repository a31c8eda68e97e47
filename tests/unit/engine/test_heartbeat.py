"""Leases are checked and renewed while their tasks are executed, and none is counted on past its end."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise

import pytest
from structlog.testing import capture_logs
from support.memory_queue import CLASS, Bench, FakeHandler
from support.renewing import RENEWS, Endless, lasting, renewing_bench

from gorge_worker.engine.heartbeat import FIRST_PAUSE, FRESH, LONGEST_INTERVAL
from gorge_worker.engine.renewing import ANSWER_LIMIT
from gorge_worker.queues.protocol import Features

pytestmark = pytest.mark.virtual_time

NOTICED = 30.0
"""Seconds within which a task that was taken away must be noticed."""


async def test_a_task_may_run_for_much_longer_than_its_lease() -> None:
    async with renewing_bench(lasting(7000)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(7001)
        assert bench.queue.verdicts(task_id) == ["success"]
        assert bench.handlers[CLASS].executed == [task_id]
        assert bench.queue.stale == []


async def test_a_thousand_running_tasks_cost_one_call_for_each_interval() -> None:
    async with renewing_bench(FakeHandler(Endless()), workers=1000) as bench:
        for _ in range(1000):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(200)
        assert 200 / LONGEST_INTERVAL - 1 <= len(bench.queue.renewals) <= 200 / 10 + 1
        assert all(len(leases) == 1000 for _, leases in bench.queue.renewals)


async def test_nothing_is_asked_while_nothing_is_held() -> None:
    async with renewing_bench(FakeHandler()) as bench:
        bench.queue.add()
        bench.start()
        await asyncio.sleep(1000)
        assert bench.queue.renewals == []


@pytest.mark.parametrize("moment", [0.0, 4.9, 5.1, 9.0, 14.0, 14.9, 23.0])
async def test_a_task_that_was_taken_away_is_noticed_and_cancelled(moment: float) -> None:
    endless = Endless()
    async with renewing_bench(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(0.1 + moment)
        taken_at = bench.clock.boottime()
        bench.queue.take_away(task_id)
        with capture_logs() as logs:
            await asyncio.sleep(NOTICED)
        assert endless.cancelled_at[task_id] - taken_at < NOTICED
        assert bench.queue.report_tries == []
        assert bench.worker.stats.active == 0
        assert bench.worker._slots.free == 4
        assert bench.worker.stats.failed == 0
        [line] = logs
        assert (line["event"], line["task"]) == ("lease lost, nothing is reported", task_id)
        assert (line["log_level"], line["reason"]) == ("warning", "somebody has taken it away")


def test_a_fresh_lease_and_one_call_without_an_answer_are_allowed_for_in_the_bound() -> None:
    assert FRESH + LONGEST_INTERVAL + ANSWER_LIMIT + FIRST_PAUSE < NOTICED


@pytest.mark.parametrize("moment", [0.0, 2.9, 3.1, 9.0, 14.9])
async def test_one_call_without_an_answer_does_not_keep_a_loss_from_being_noticed_in_time(moment: float) -> None:
    endless = Endless()
    async with renewing_bench(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(0.1 + moment)
        taken_at = bench.clock.boottime()
        bench.queue.take_away(task_id)
        bench.queue.renewals_to_hang = 1
        await asyncio.sleep(NOTICED)
        assert bench.queue.renewals_to_hang == 0
        assert endless.cancelled_at[task_id] - taken_at < NOTICED


async def test_a_queue_that_learns_to_renew_is_asked_to_from_then_on() -> None:
    async with Bench(lasting(150), lease_seconds=200) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(100)
        bench.queue.features = RENEWS
        await asyncio.sleep(2)
        assert len(bench.queue.renewals) == 1
        await asyncio.sleep(60)
        assert bench.queue.verdicts(task_id) == ["success"]


async def test_a_queue_that_can_renew_no_longer_is_not_asked_and_its_leases_end_when_they_do() -> None:
    endless = Endless()
    async with renewing_bench(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(60)
        end, calls = bench.queue.leased[task_id].ends_at, len(bench.queue.renewals)
        bench.queue.features = Features()
        await asyncio.sleep(299)
        assert len(bench.queue.renewals) == calls
        assert end <= endless.cancelled_at[task_id] < end + 0.5
        assert bench.queue.report_tries == []


@pytest.mark.parametrize("how", ["down", "hanging"])
async def test_with_a_silent_queue_a_lease_counts_to_its_end_and_no_longer(how: str) -> None:
    endless = Endless()
    async with renewing_bench(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        end = bench.queue.leased[task_id].ends_at
        bench.queue.down, bench.queue.renewals_to_hang = how == "down", math.inf if how == "hanging" else 0
        await asyncio.sleep(end - bench.clock.boottime() - 0.5)
        assert endless.cancelled_at == {}
        await asyncio.sleep(1)
        assert end <= endless.cancelled_at[task_id] < end + 0.5
        tries = len(bench.queue.renewals)
        assert tries > 300 / (10 + ANSWER_LIMIT) - 1, "it is tried until then"
        assert bench.queue.report_tries == []


async def test_a_queue_that_comes_back_in_time_costs_nothing() -> None:
    async with renewing_bench(lasting(400)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        bench.queue.down = True
        with capture_logs() as logs:
            await asyncio.sleep(250)
            bench.queue.down = False
            await asyncio.sleep(250)
        assert bench.queue.verdicts(task_id) == ["success"]
        told = [line["event"] for line in logs if "renew" in line["event"]]
        assert told == ["leases can't be renewed, it is tried again until they end", "the queue renews leases again"]


async def test_trouble_is_tried_again_soon_and_then_less_often() -> None:
    async with renewing_bench(FakeHandler(Endless()), lease_seconds=3600) as bench:
        bench.queue.add()
        bench.queue.lose_renewals = 1.0
        bench.start()
        await asyncio.sleep(100)
        times = [time for time, _ in bench.queue.renewals]
        assert [round(later - earlier) for earlier, later in pairwise(times)][:7] == [1, 2, 4, 8, 10, 10, 10]
        bench.queue.lose_renewals = 0.0
        await asyncio.sleep(100)
        times = [time for time, _ in bench.queue.renewals]
        assert all(later - earlier >= 9.9 for earlier, later in pairwise(times[-6:])), "as ever"


async def test_a_suspended_machine_finds_its_leases_lost() -> None:
    endless = Endless()
    async with renewing_bench(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        sleep, boottime = 4000.0, bench.clock.boottime
        bench.clock.boottime = lambda: boottime() + sleep  # type: ignore[method-assign]
        await asyncio.sleep(2)
        assert task_id in endless.cancelled_at
        assert bench.queue.report_tries == []


async def test_short_leases_are_renewed_in_time() -> None:
    async with renewing_bench(lasting(60), lease_seconds=3) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(61)
        assert bench.queue.verdicts(task_id) == ["success"]


async def test_leases_are_renewed_and_their_loss_noticed_during_a_drain() -> None:
    endless = Endless()
    async with Bench(FakeHandler(endless), features=RENEWS, lease_seconds=60, drain_timeout=1000) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        drained = asyncio.create_task(bench.drained())
        await asyncio.sleep(200)
        assert not drained.done()
        bench.queue.take_away(task_id)
        await asyncio.sleep(NOTICED)
        assert await drained


async def test_nothing_is_left_behind_by_a_worker_that_ends_while_a_renewal_hangs() -> None:
    async with Bench(FakeHandler(Endless()), features=RENEWS, lease_seconds=300, drain_timeout=2) as bench:
        bench.queue.add()
        bench.queue.renewals_to_hang = math.inf
        bench.start()
        await asyncio.sleep(LONGEST_INTERVAL + 0.5)
        assert bench.queue.renewals
        assert not await bench.drained()
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_fault_of_the_heartbeat_ends_the_worker_in_good_order() -> None:
    async with renewing_bench(lasting(5)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)

        def fail(_now: float) -> None:
            raise RuntimeError("a fault")

        bench.worker._heartbeat._end_overdue = fail  # type: ignore[method-assign, assignment]
        assert bench.run is not None
        with pytest.raises(RuntimeError, match="a fault"):
            await asyncio.wait_for(bench.run, 100)
        assert bench.queue.verdicts(task_id) == ["success"]
        assert bench.queue.gave_back


async def test_a_queue_without_renewals_is_not_asked_for_any() -> None:
    async with Bench(lasting(100), lease_seconds=200) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(150)
        assert bench.queue.renewals == []
        assert bench.queue.verdicts(task_id) == ["success"]
