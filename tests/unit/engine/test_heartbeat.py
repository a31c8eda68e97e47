"""Leases are checked and renewed while their tasks are executed, and none is counted on past its end."""

from __future__ import annotations

import asyncio
import random

import pytest
from structlog.testing import capture_logs
from support.memory_queue import CLASS, Bench, FakeHandler

from gorge_worker.engine.heartbeat import ANSWER_LIMIT, LONGEST_INTERVAL
from gorge_worker.errors import LeaseLost
from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.protocol import Features

pytestmark = pytest.mark.virtual_time

RENEWS = Features(renews=True)
NOTICED = 30.0
"""Seconds within which a task that was taken away must be noticed."""


class Endless:
    """A handler's function that never ends by itself, and knows what became of it."""

    def __init__(self) -> None:
        self.cancelled_at: dict[int, float] = {}

    async def __call__(self, lease: Lease) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled_at[lease.task.id] = asyncio.get_running_loop().time()
        raise AssertionError("not reached")


def bench_of(handler: FakeHandler, *, lease_seconds: float = 300.0, workers: int = 4) -> Bench:
    return Bench(handler, features=RENEWS, lease_seconds=lease_seconds, max_workers=workers, lease_limit=workers)


def lasting(seconds: float) -> FakeHandler:
    async def execute(_lease: Lease) -> Outcome:
        await asyncio.sleep(seconds)
        return Outcome.success()

    return FakeHandler(execute)


async def test_a_task_may_run_for_much_longer_than_its_lease() -> None:
    async with bench_of(lasting(7000)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(7001)
        assert bench.queue.verdicts(task_id) == ["success"]
        assert bench.handlers[CLASS].executed == [task_id]
        assert bench.queue.stale == []


async def test_a_thousand_running_tasks_cost_one_call_for_each_interval() -> None:
    async with bench_of(FakeHandler(Endless()), workers=1000) as bench:
        for _ in range(1000):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(200)
        assert 200 / LONGEST_INTERVAL - 1 <= len(bench.queue.renewals) <= 200 / 10 + 1
        assert all(len(leases) == 1000 for _, leases in bench.queue.renewals)


async def test_nothing_is_asked_while_nothing_is_held() -> None:
    async with bench_of(FakeHandler()) as bench:
        bench.queue.add()
        bench.start()
        await asyncio.sleep(1000)
        assert bench.queue.renewals == []


@pytest.mark.parametrize("moment", [0.0, 4.9, 5.1, 9.0, 14.0, 14.9, 23.0])
async def test_a_task_that_was_taken_away_is_noticed_and_cancelled(moment: float) -> None:
    endless = Endless()
    async with bench_of(FakeHandler(endless)) as bench:
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
        [line] = [line for line in logs if line["event"] == "lease lost, nothing is reported"]
        assert (line["task"], line["reason"]) == (task_id, "somebody has taken it away")


async def test_a_waiting_task_that_was_taken_away_is_not_executed() -> None:
    async with bench_of(lasting(60), workers=1) as bench:
        first, second = bench.queue.add(), bench.queue.add()
        bench.queue.script(first, second)
        bench.start()
        await asyncio.sleep(1)
        bench.queue.take_away(second)
        bench.queue.available_at[second] = 1e9
        await asyncio.sleep(100)
        assert bench.handlers[CLASS].executed == [first]
        assert len(bench.worker._held) == 0


async def test_a_handler_that_ignores_its_cancellation_is_not_reported_either() -> None:
    async def stubborn(_lease: Lease) -> Outcome:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await asyncio.sleep(50)
        return Outcome.success()

    async with bench_of(FakeHandler(stubborn)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        bench.queue.take_away(task_id)
        bench.queue.available_at[task_id] = 1e9
        await asyncio.sleep(40)
        assert bench.worker.stats.active == 1, "it keeps its slot"
        await asyncio.sleep(100)
        assert bench.worker.stats.active == 0
        assert bench.queue.report_tries == []


async def test_an_execution_that_ends_at_last_does_not_count_for_a_newer_lease() -> None:
    async def stubborn(_lease: Lease) -> Outcome:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await asyncio.sleep(50)
            raise
        return Outcome.success()

    handler = FakeHandler(stubborn)
    async with bench_of(handler) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        bench.queue.take_away(task_id)
        await asyncio.sleep(20)
        bench.queue.available_at[task_id] = 0.0
        await asyncio.sleep(70)
        assert handler.overlaps == []
        assert bench.queue.verdicts(task_id)[0] == "release"
        assert bench.queue.stale == []


@pytest.mark.parametrize("how", ["down", "hanging"])
async def test_with_a_silent_queue_a_lease_counts_to_its_end_and_no_longer(how: str) -> None:
    endless = Endless()
    async with bench_of(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        end = bench.queue.leased[task_id].ends_at
        bench.queue.down, bench.queue.renew_hangs = how == "down", how == "hanging"
        await asyncio.sleep(end - bench.clock.boottime() - 0.5)
        assert endless.cancelled_at == {}
        await asyncio.sleep(1)
        assert end <= endless.cancelled_at[task_id] < end + 0.5
        tries = len(bench.queue.renewals)
        assert tries > 300 / (10 + ANSWER_LIMIT) - 1, "it is tried until then"
        assert bench.queue.report_tries == []


async def test_a_queue_that_comes_back_in_time_costs_nothing() -> None:
    async with bench_of(lasting(400)) as bench:
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


async def test_a_suspended_machine_finds_its_leases_lost() -> None:
    endless = Endless()
    async with bench_of(FakeHandler(endless)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        sleep, boottime = 4000.0, bench.clock.boottime
        bench.clock.boottime = lambda: boottime() + sleep  # type: ignore[method-assign]
        await asyncio.sleep(2)
        assert task_id in endless.cancelled_at
        assert bench.queue.report_tries == []


async def test_an_outcome_is_reported_under_the_lease_as_it_was_renewed() -> None:
    """The renewal is under way when the execution ends."""
    async with bench_of(lasting(17)) as bench:
        bench.queue.renew_takes = 4.0
        ids = [bench.queue.add() for _ in range(4)]
        bench.start()
        await asyncio.sleep(40)
        assert [bench.queue.verdicts(one) for one in ids] == [["success"]] * 4
        assert bench.queue.stale == []


async def test_an_outcome_waits_until_it_is_known_how_its_lease_stands() -> None:
    async with bench_of(lasting(30)) as bench:
        bench.queue.lose_renewals = 0.5
        ids = [bench.queue.add() for _ in range(4)]
        bench.start()
        await asyncio.sleep(200)
        assert [bench.queue.verdicts(one) for one in ids] == [["success"]] * 4
        assert bench.queue.stale == []


async def test_short_leases_are_renewed_in_time() -> None:
    async with bench_of(lasting(60), lease_seconds=3) as bench:
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


async def test_a_queue_without_renewals_is_not_asked_for_any() -> None:
    async with Bench(lasting(100), lease_seconds=200) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(150)
        assert bench.queue.renewals == []
        assert bench.queue.verdicts(task_id) == ["success"]


async def test_a_handler_that_finds_its_lease_lost_after_a_renewal_reports_nothing() -> None:
    async def loses(_lease: Lease) -> Outcome:
        await asyncio.sleep(40)
        raise LeaseLost("says the backend")

    async with bench_of(FakeHandler(loses)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(41)
        bench.queue.available_at[task_id] = 1e9
        assert bench.queue.renewals
        assert bench.queue.report_tries == []
        assert len(bench.worker._held) == 0


@pytest.mark.parametrize("seed", range(30))
async def test_whatever_happens_nothing_is_reported_late_and_no_slot_is_lost(seed: int) -> None:
    rng = random.Random(seed)

    async def some_time(_lease: Lease) -> Outcome:
        await asyncio.sleep(rng.choice([0, 1, 30, 100]))
        return rng.choice([Outcome.success(), Outcome.temporary_failure("later", 20), Outcome.yielded(5)])

    handler = FakeHandler(some_time)
    async with bench_of(handler, lease_seconds=rng.choice([20, 60, 300]), workers=8) as bench:
        bench.queue.rng = rng
        bench.queue.lose_renewals = rng.choice([0, 0.3, 0.9])
        ids = [bench.queue.add() for _ in range(40)]
        bench.start()
        for _ in range(60):
            await asyncio.sleep(rng.uniform(0, 20))
            bench.queue.renew_takes = rng.choice([0, 0, 1, 9])
            bench.queue.renew_hangs = rng.random() < 0.05
            bench.queue.down = rng.random() < 0.1
            for task_id in rng.sample(ids, 2):
                if task_id in bench.queue.leased and rng.random() < 0.3:
                    bench.queue.take_away(task_id)
                    bench.queue.available_at[task_id] = 0.0
        bench.queue.down = bench.queue.renew_hangs = False
        bench.queue.lose_renewals = 0
        await asyncio.sleep(3000)
        assert handler.overlaps == []
        assert not bench.queue.available_at, "every task is done in the end"
        done = [report.lease.task.id for report in bench.queue.accepted if str(report.outcome.verdict) == "success"]
        assert sorted(done) == ids, "each once"
        assert bench.worker.stats.active == 0
        assert bench.worker._slots.free == 8
        assert len(bench.worker._held) == 0
