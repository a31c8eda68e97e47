"""Outcomes are reported under their leases as these stand, whatever becomes of renewals."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections import Counter

import pytest
from structlog.testing import capture_logs
from support.memory_queue import FakeHandler
from support.renewing import lasting, renewing_bench

from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.protocol import Features, Receipt, ReportResult

pytestmark = pytest.mark.virtual_time


async def test_an_outcome_is_reported_under_the_lease_as_it_was_renewed() -> None:
    """The renewal is under way when the execution ends."""
    async with renewing_bench(lasting(17)) as bench:
        bench.queue.renew_takes = 4.0
        ids = [bench.queue.add() for _ in range(4)]
        bench.start()
        await asyncio.sleep(40)
        assert [bench.queue.verdicts(one) for one in ids] == [["success"]] * 4
        assert bench.queue.stale == []


async def test_an_outcome_waits_until_it_is_known_how_its_lease_stands() -> None:
    async with renewing_bench(lasting(30)) as bench:
        bench.queue.lose_renewals = 0.5
        ids = [bench.queue.add() for _ in range(4)]
        bench.start()
        await asyncio.sleep(200)
        assert [bench.queue.verdicts(one) for one in ids] == [["success"]] * 4
        assert bench.queue.stale == []


async def test_a_call_that_hangs_holds_up_no_report_of_tasks_that_it_does_not_renew() -> None:
    async def execute(lease: Lease) -> Outcome:
        await asyncio.sleep(20 if lease.task.id == 1 else 0.1)
        return Outcome.success()

    async with renewing_bench(FakeHandler(execute)) as bench:
        renewed = bench.queue.add()
        bench.queue.features = Features(renews=True, report_batch=500, report_concurrency=1)
        bench.queue.renewals_to_hang = math.inf
        bench.start()
        await asyncio.sleep(20.5)
        assert bench.queue.renewals
        assert bench.queue.report_tries == []
        fresh = [bench.queue.add() for _ in range(5)]
        await asyncio.sleep(1)
        assert [bench.queue.verdicts(one) for one in [renewed, *fresh]] == [[], *[["success"]] * 5]
        bench.queue.renewals_to_hang = 0
        await asyncio.sleep(60)
        assert bench.queue.verdicts(renewed) == ["success"]


async def test_an_outcome_that_waits_to_be_reported_is_not_renewed() -> None:
    async with renewing_bench(lasting(60)) as bench:
        task_id = bench.queue.add()
        bench.queue.answers[task_id] = [ReportResult(Receipt.TROUBLE, "no")] * 8
        bench.start()
        await asyncio.sleep(60.1)
        calls = len(bench.queue.renewals)
        await asyncio.sleep(100)
        assert len(bench.queue.report_tries) == 9
        assert len(bench.queue.renewals) == calls
        assert bench.queue.verdicts(task_id) == ["success"]


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_happens_nothing_is_reported_wrongly_and_no_slot_is_lost(seed: int) -> None:
    rng, outcomes = random.Random(seed), 0

    async def some_time(_lease: Lease) -> Outcome:
        nonlocal outcomes
        seconds, is_thread = rng.choice([0, 1, 30, 100]), rng.random() < 0.3
        if is_thread:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(seconds)
            await asyncio.sleep(rng.uniform(0, 400))
        else:
            await asyncio.sleep(seconds)
        outcomes += 1
        return rng.choice([Outcome.success(), Outcome.temporary_failure("later", 20), Outcome.yielded(5)])

    handler = FakeHandler(some_time)
    async with renewing_bench(handler, lease_seconds=rng.choice([20, 60, 300]), workers=8) as bench:
        queue = bench.queue
        queue.features = Features(
            renews=True, report_batch=rng.choice([1, 500]), report_concurrency=rng.choice([1, 64])
        )
        queue.rng = rng
        queue.lose_renewals = rng.choice([0, 0.3, 0.9])
        ids = [queue.add() for _ in range(40)]
        with capture_logs() as logs:
            bench.start()
            for _ in range(60):
                await asyncio.sleep(rng.uniform(0, 20))
                queue.renew_takes = rng.choice([0, 0, 1, 9])
                queue.renewals_to_hang = rng.choice([0] * 8 + [1, 5])
                queue.down = rng.random() < 0.1
                for task_id in rng.sample(ids, 2):
                    if task_id in queue.leased and rng.random() < 0.3:
                        queue.take_away(task_id)
                        queue.available_at[task_id] = 0.0
            queue.down, queue.renewals_to_hang, queue.lose_renewals = False, 0, 0
            await asyncio.sleep(5000)
        assert handler.overlaps == []
        assert len(set(handler.leases)) == len(handler.leases), "one execution under each lease"
        assert (queue.stale, queue.late) == ([], [])
        assert not queue.available_at, "every task is done in the end"
        verdicts = [str(report.outcome.verdict) for report in queue.accepted]
        done = [report.lease.task.id for report in queue.accepted if str(report.outcome.verdict) == "success"]
        assert sorted(done) == ids, "each once"
        told = Counter(line["event"] for line in logs)
        untold = told["outcome not reported"] + told["lease lost, nothing is reported"]
        assert outcomes <= len([one for one in verdicts if one != "release"]) + untold
        assert "error" not in {line["log_level"] for line in logs}
        assert bench.worker.stats.active == 0
        assert bench.worker._slots.free == 8
        assert len(bench.worker._held) == 0
