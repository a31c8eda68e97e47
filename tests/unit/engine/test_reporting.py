"""How outcomes reach the queue, on a queue in memory and in virtual time."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs
from support.memory_queue import CLASS, Bench, FakeHandler

from gorge_worker.model import Lease, NewTask, Outcome
from gorge_worker.queues.protocol import Leased, Receipt, Report, ReportResult

pytestmark = pytest.mark.virtual_time

TROUBLE = ReportResult(Receipt.TROUBLE, "no")


async def test_a_report_is_repeated_until_it_is_accepted_and_counts_once() -> None:
    async with Bench() as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [TROUBLE] * 5
        bench.start()
        await asyncio.sleep(0.05)
        assert bench.worker.stats.processed == 0
        await asyncio.sleep(30)
        assert bench.queue.verdicts(task) == ["success"]
        assert len(bench.queue.report_tries) == 6
        assert bench.worker.stats.processed == 1
        assert bench.handlers[CLASS].executed == [task]


async def test_a_report_that_the_queue_chokes_on_does_not_hold_up_the_others() -> None:
    async with Bench(max_workers=2) as bench:
        bad = bench.queue.add()
        bench.queue.answers[bad] = [TROUBLE] * 1000
        others = [bench.queue.add() for _ in range(50)]
        bench.start()
        await asyncio.sleep(3)
        assert all(bench.queue.verdicts(one) == ["success"] for one in others)
        assert len(bench.queue.report_tries) < 70


async def test_a_waiting_report_holds_no_slot() -> None:
    async with Bench(max_workers=1) as bench:
        first = bench.queue.add()
        bench.queue.answers[first] = [TROUBLE] * 1000
        second = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(second) == ["success"]


async def test_an_outage_is_not_hammered_and_nothing_is_executed_twice() -> None:
    async def short(_lease: Lease) -> Outcome:
        await asyncio.sleep(0.05)
        return Outcome.success()

    async with Bench(FakeHandler(short), max_workers=64, lease_limit=64) as bench:
        for _ in range(200_00):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(3)
        bench.queue.down = True
        before = len(bench.queue.report_tries) + len(bench.queue.requests)
        await asyncio.sleep(10)
        assert len(bench.queue.report_tries) + len(bench.queue.requests) - before < 150
        bench.queue.down = False
        at = bench.clock.boottime()
        done = bench.worker.stats.processed
        await asyncio.sleep(4)
        assert bench.worker.stats.processed > done + 64
        assert len(set(bench.handlers[CLASS].executed)) == len(bench.handlers[CLASS].executed)
        assert bench.clock.boottime() > at


@pytest.mark.parametrize("outcome", [Outcome.temporary_failure("x", 30), Outcome.yielded(30)])
async def test_a_refused_report_is_final(outcome: Outcome) -> None:
    async def once(_lease: Lease) -> Outcome:
        return outcome

    async with Bench(FakeHandler(once)) as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [ReportResult(Receipt.REFUSED, "bad")]
        bench.start()
        await asyncio.sleep(100)
        assert len(bench.queue.report_tries) == 1


async def test_a_refused_success_is_reported_once_as_a_permanent_failure_naming_the_refusal() -> None:
    async def spawn(_lease: Lease) -> Outcome:
        return Outcome.success((NewTask(task_class="x" * 65),))

    async with Bench(FakeHandler(spawn)) as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [ReportResult(Receipt.REFUSED, "taskClass is too long")]
        bench.start()
        await asyncio.sleep(100)
        assert bench.queue.verdicts(task) == ["permanent-failure"]
        assert "taskClass is too long" in bench.queue.accepted[0].outcome.reason
        assert (bench.worker.stats.processed, bench.worker.stats.failed) == (0, 1)


async def test_a_lost_lease_ends_the_reporting() -> None:
    async with Bench() as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [ReportResult(Receipt.LEASE_LOST, "somebody else's")]
        bench.start()
        await asyncio.sleep(100)
        assert len(bench.queue.report_tries) == 1
        assert bench.worker.stats.processed == 0


async def test_nothing_is_reported_past_the_end_of_the_lease() -> None:
    async with Bench(lease_seconds=20.0) as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [TROUBLE] * 1000
        with capture_logs() as logs:
            bench.start()
            ends = bench.clock.boottime() + 20.0
            await asyncio.sleep(19)
            bench.queue.available_at.clear()
            await asyncio.sleep(60)
        assert bench.queue.report_tries
        assert all(time < ends for time, _ in bench.queue.report_tries)
        assert "outcome not reported" in [line["event"] for line in logs]


async def test_a_task_leased_again_while_its_report_waits_is_reported_and_not_executed_again() -> None:
    async with Bench(lease_seconds=20.0) as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [TROUBLE] * 5
        bench.start()
        await asyncio.sleep(1)
        bench.queue.scripted_leases = [Leased(leases=[bench.queue.lease_of(task, "second owner", 300)])]
        await asyncio.sleep(40)
        assert bench.handlers[CLASS].executed == [task]
        assert [report.lease.owner for report in bench.queue.accepted] == ["second owner"]


async def test_a_report_that_was_under_way_when_its_task_was_leased_again_goes_out_under_the_newer_lease() -> None:
    async with Bench() as bench:
        task = bench.queue.add()
        sent: list[str] = []

        async def report(reports: list[Report]) -> list[ReportResult]:
            sent.append(reports[0].lease.owner)
            if len(sent) == 1:
                await asyncio.sleep(5)
                return [ReportResult(Receipt.LEASE_LOST, "an old lease")]
            return [ReportResult(Receipt.ACCEPTED)]

        bench.queue.report = report  # type: ignore[method-assign, assignment]
        bench.start()
        await asyncio.sleep(1)
        bench.queue.scripted_leases = [Leased(leases=[bench.queue.lease_of(task, "second owner", 9000)])]
        await asyncio.sleep(10)
        assert sent == ["owner-1", "second owner"]
        assert bench.worker.stats.processed == 1


async def test_retry_after_is_waited() -> None:
    async with Bench() as bench:
        task = bench.queue.add()
        bench.queue.answers[task] = [ReportResult(Receipt.TROUBLE, "busy", 25.0)]
        bench.start()
        await asyncio.sleep(60)
        [first, second] = [time for time, _ in bench.queue.report_tries]
        assert second - first >= 25.0


async def test_durations_are_what_the_backend_says_or_else_what_was_measured_in_microseconds() -> None:
    async def slow(lease: Lease) -> Outcome:
        await asyncio.sleep(0.25)
        return Outcome.success(duration=77 if lease.task.id == 1 else None)

    async with Bench(FakeHandler(slow)) as bench:
        bench.queue.add(), bench.queue.add()
        bench.start()
        await asyncio.sleep(2)
        durations = {report.lease.task.id: report.duration for report in bench.queue.accepted}
        assert durations[1] == 77
        assert durations[2] == pytest.approx(250_000, abs=2)
