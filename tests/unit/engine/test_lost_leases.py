"""What becomes of a task whose lease is lost: it is cancelled, nothing is reported, and its slot is free again."""

from __future__ import annotations

import asyncio

import pytest
from support.memory_queue import CLASS, Bench, FakeHandler
from support.renewing import lasting, renewing_bench, stubborn

from gorge_worker.engine.breaker import THRESHOLD
from gorge_worker.engine.held import Held
from gorge_worker.errors import LeaseLost
from gorge_worker.model import Lease, Outcome

pytestmark = pytest.mark.virtual_time


async def test_a_waiting_task_that_was_taken_away_is_not_executed() -> None:
    async with renewing_bench(lasting(60), workers=1) as bench:
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
    async def ignores(_lease: Lease) -> Outcome:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await asyncio.sleep(50)
        return Outcome.success()

    async with renewing_bench(FakeHandler(ignores)) as bench:
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
    handler = stubborn(80)
    async with renewing_bench(handler) as bench:
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


async def test_what_cannot_be_cancelled_costs_nothing_more_when_its_lease_has_ended() -> None:
    async with renewing_bench(stubborn(3000), lease_seconds=60) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        bench.queue.take_away(task_id)
        bench.queue.available_at[task_id] = 1e9
        looks, boottime = 0, bench.clock.boottime

        def counted() -> float:
            nonlocal looks
            looks += 1
            assert looks < 100_000, "it looks without a pause"
            return boottime()

        bench.clock.boottime = counted  # type: ignore[method-assign]
        await asyncio.sleep(2500)
        assert bench.worker.stats.active == 1
        assert looks < 20_000
        await asyncio.sleep(1000)
        assert bench.worker.stats.active == 0
        assert bench.queue.report_tries == []


def submitted(bench: Bench) -> Held:
    """A held task whose execution is about to begin."""
    task_id = bench.queue.add()
    bench.queue._hold(bench.queue.lease_of(task_id))
    held = bench.worker._held.take(bench.queue.leased[task_id], bench.clock.boottime())
    assert held is not None
    assert bench.worker._slots.submit(held)
    return held


async def test_a_task_that_is_lost_in_the_moment_before_it_begins_frees_its_slot() -> None:
    async with renewing_bench(lasting(10), workers=1) as bench:
        bench.start()
        await asyncio.sleep(1)
        held = submitted(bench)
        bench.worker._lose(held, "freed at once")
        later = bench.queue.add()
        await asyncio.sleep(20)
        assert bench.handlers[CLASS].executed == [later]
        assert bench.queue.verdicts(held.lease.task.id) == []
        assert (bench.worker.stats.active, bench.worker._slots.free, len(bench.worker._held)) == (0, 1, 0)


async def test_a_task_that_is_cut_in_the_moment_before_it_begins_goes_back_without_a_failure() -> None:
    async with renewing_bench(FakeHandler(stops_when_cancelled=False)) as bench:
        bench.start()
        await asyncio.sleep(1)
        task_id = submitted(bench).lease.task.id
        await bench.worker._slots.cut()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(task_id) == ["release", "success"]
        assert bench.handlers[CLASS].executed == [task_id], "once, after it went back"


async def test_a_probe_of_a_backend_that_is_lost_before_it_begins_lets_the_next_one_come() -> None:
    async with renewing_bench(FakeHandler(backend="conduit")) as bench:
        breaker = bench.worker._slots._backends.of(bench.handlers[CLASS])
        assert breaker is not None
        for _ in range(THRESHOLD):
            breaker.refused(0.0, "refused")
        held = submitted(bench)
        assert breaker.wait(bench.clock.boottime()) > 0
        bench.worker._lose(held, "freed at once")
        await asyncio.sleep(0.1)
        assert breaker.wait(bench.clock.boottime()) == 0


async def test_a_thread_that_outlives_a_lease_which_is_not_renewed_reports_nothing() -> None:
    async with Bench(stubborn(300), lease_seconds=200) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(199)
        bench.queue.available_at[task_id] = 1e9
        await asyncio.sleep(200)
        assert bench.queue.report_tries == []
        assert bench.worker.stats.active == 0


async def test_a_handler_that_finds_its_lease_lost_after_a_renewal_reports_nothing() -> None:
    async def loses(_lease: Lease) -> Outcome:
        await asyncio.sleep(40)
        raise LeaseLost("says the backend")

    async with renewing_bench(FakeHandler(loses)) as bench:
        task_id = bench.queue.add()
        bench.start()
        await asyncio.sleep(41)
        bench.queue.available_at[task_id] = 1e9
        assert bench.queue.renewals
        assert bench.queue.report_tries == []
        assert len(bench.worker._held) == 0
