"""The worker's end, and what its slots do with odd executions, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs
from support.memory_queue import CLASS, Bench, FakeHandler

from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.protocol import Features, Leased

pytestmark = pytest.mark.virtual_time


async def takes_ten_seconds(_lease: Lease) -> Outcome:
    await asyncio.sleep(10)
    return Outcome.success()


async def hang(_lease: Lease) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


async def test_an_idle_worker_ends_at_once() -> None:
    async with Bench() as bench:
        bench.start()
        await asyncio.sleep(30)
        at = bench.clock.boottime()
        assert await bench.drained()
        assert bench.clock.boottime() == at
        assert bench.queue.gave_back


async def test_running_tasks_are_finished_and_reported_and_nothing_new_is_leased() -> None:
    async with Bench(FakeHandler(takes_ten_seconds), max_workers=2) as bench:
        for _ in range(5):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        assert await bench.drained()
        assert bench.worker.stats.processed == 2
        assert len(bench.handlers[CLASS].executed) == 2


async def test_what_has_not_started_is_given_back_at_once() -> None:
    async with Bench(FakeHandler(takes_ten_seconds), max_workers=1) as bench:
        ids = [bench.queue.add() for _ in range(4)]
        bench.queue.scripted_leases = [Leased(leases=[bench.queue.lease_of(one) for one in ids])]
        bench.start()
        await asyncio.sleep(1)
        drained = asyncio.create_task(bench.drained())
        await asyncio.sleep(0.1)
        assert [str(report.outcome.verdict) for report in bench.queue.accepted] == ["release"] * 3
        assert await drained


async def test_a_lease_answer_that_comes_during_the_drain_is_given_back() -> None:
    async with Bench() as bench:
        task = bench.queue.add()
        arrived = asyncio.Event()

        async def late(_request: object) -> Leased:
            arrived.set()
            await asyncio.sleep(1)
            return Leased(leases=[bench.queue.lease_of(task)])

        bench.queue.lease = late  # type: ignore[method-assign, assignment]
        bench.start()
        await arrived.wait()
        assert await bench.drained()
        assert bench.queue.verdicts(task) == ["release"]
        assert bench.handlers[CLASS].executed == []


async def test_a_long_poll_is_dropped_by_the_drain() -> None:
    async with Bench(features=Features(long_poll=25.0)) as bench:
        bench.start()
        await asyncio.sleep(3)
        at = bench.clock.boottime()
        assert await bench.drained()
        assert bench.clock.boottime() == at
        assert bench.queue.gave_back


@pytest.mark.parametrize(("stops", "verdict"), [(True, "yield"), (False, "failure")])
async def test_past_the_deadline_tasks_are_cut_and_named(stops: bool, verdict: str) -> None:  # noqa: FBT001
    async with Bench(FakeHandler(hang, stops_when_cancelled=stops), drain_timeout=30.0) as bench:
        task = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        began = bench.clock.boottime()
        with capture_logs() as logs:
            assert not await bench.drained()
        assert bench.clock.boottime() - began == pytest.approx(30.0, abs=1)
        assert bench.queue.verdicts(task) == [verdict]
        assert [line["task"] for line in logs if line["event"] == "task cut by the shutdown"] == [task]


async def test_an_execution_that_cannot_be_cancelled_is_reported_all_the_same() -> None:
    release = asyncio.Event()

    async def absorb(_lease: Lease) -> Outcome:
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        return Outcome.success()

    async with Bench(FakeHandler(absorb), drain_timeout=5.0) as bench:
        task = bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        assert not await bench.drained()
        release.set()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(task) == ["failure"]
        assert bench.worker.stats.active == 0


async def test_a_second_wish_to_end_cuts_at_once() -> None:
    async with Bench(FakeHandler(hang), drain_timeout=3600.0) as bench:
        bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        drained = asyncio.create_task(bench.drained())
        await asyncio.sleep(1)
        at = bench.clock.boottime()
        bench.worker.cut()
        assert not await drained
        assert bench.clock.boottime() - at < 1


@pytest.mark.parametrize(("running", "most"), [(True, 8.0 + 3.0), (False, 5.0 + 0.1)])
async def test_a_queue_that_hangs_does_not_hold_up_the_end(running: bool, most: float) -> None:  # noqa: FBT001
    async with Bench(FakeHandler(hang), drain_timeout=8.0) as bench:
        if running:
            bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        bench.queue.give_back = forever  # type: ignore[method-assign]
        began = bench.clock.boottime()
        await bench.drained()
        assert bench.clock.boottime() - began <= most


async def forever() -> None:
    await asyncio.Event().wait()


async def test_outcomes_that_the_queue_does_not_take_are_kept_for_the_drain_and_named_after_it() -> None:
    async with Bench(drain_timeout=30.0) as bench:
        task = bench.queue.add()
        bench.start()
        bench.queue.report = hangs  # type: ignore[method-assign, assignment]
        await asyncio.sleep(1)
        with capture_logs() as logs:
            assert not await bench.drained()
        assert [line["task"] for line in logs if "not reported" in line["event"]] == [task]


async def hangs(_reports: object) -> list[object]:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


async def test_an_outage_that_ends_during_the_drain_costs_nothing() -> None:
    async with Bench(FakeHandler(takes_ten_seconds), drain_timeout=30.0) as bench:
        bench.queue.add()
        bench.start()
        await asyncio.sleep(1)
        bench.queue.down = True
        drained = asyncio.create_task(bench.drained())
        await asyncio.sleep(20)
        bench.queue.down = False
        assert await drained
        assert bench.worker.stats.processed == 1


async def test_a_time_out_frees_the_slot_and_is_reported_in_time() -> None:
    async with Bench(FakeHandler(hang), lease_seconds=100.0, max_workers=1) as bench:
        task = bench.queue.add()
        bench.start()
        await asyncio.sleep(99)
        assert bench.queue.verdicts(task) == ["failure"]
        assert "time-out" in bench.queue.accepted[0].outcome.reason


async def test_a_lost_lease_reports_nothing_and_frees_the_slot() -> None:
    async def lose(_lease: Lease) -> Outcome:
        raise LeaseLost("taken away")

    async with Bench({CLASS: FakeHandler(lose), "Good": FakeHandler()}, max_workers=1) as bench:
        lost, good = bench.queue.add(), bench.queue.add("Good")
        bench.start()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(lost) == []
        assert bench.queue.verdicts(good) == ["success"]
        assert (bench.worker.stats.active, bench.worker.stats.failed) == (0, 0)


async def test_a_lost_lease_during_a_probe_closes_the_breaker() -> None:
    refuse = True

    async def either(_lease: Lease) -> Outcome:
        if refuse:
            raise BackendUnavailable("down")
        raise LeaseLost("taken away")

    handler = FakeHandler(either, backend="conduit")
    async with Bench(handler) as bench:
        for _ in range(12):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(0.5)
        refuse = False
        await asyncio.sleep(30)
        assert set(handler.executed) == set(range(1, 13))


async def test_a_lease_that_ended_while_waiting_for_a_slot_is_not_executed() -> None:
    async with Bench(FakeHandler(takes_ten_seconds), max_workers=1) as bench:
        first, second = bench.queue.add(), bench.queue.add()
        leases = [bench.queue.lease_of(first), bench.queue.lease_of(second, seconds=5.0)]
        bench.queue.available_at.clear()
        bench.queue.scripted_leases = [Leased(leases=leases)]
        bench.start()
        await asyncio.sleep(30)
        assert bench.handlers[CLASS].executed == [first]
        assert bench.worker.stats.active == 0


async def test_failures_are_counted_and_yields_and_releases_are_not() -> None:
    outcomes = [
        Outcome.success(),
        Outcome.permanent_failure("x"),
        Outcome.temporary_failure("y", 1000),
        Outcome.yielded(1000),
        Outcome.released("z", 1000),
    ]

    async def one(lease: Lease) -> Outcome:
        return outcomes[lease.task.id - 1]

    async with Bench(FakeHandler(one)) as bench:
        for _ in outcomes:
            bench.queue.add()
        with capture_logs() as logs:
            bench.start()
            await asyncio.sleep(5)
        assert (bench.worker.stats.processed, bench.worker.stats.failed, bench.worker.stats.active) == (1, 2, 0)
        lines = [line for line in logs if line["event"] == "task executed"]
        assert {line["task"]: line["log_level"] for line in lines} == {1: "info", 2: "error", 3: "warning", 4: "info"}
        assert all({"task_class", "outcome", "seconds", "attempt"} <= set(line) for line in lines)


async def test_a_task_is_never_executed_twice_at_once_however_often_it_is_shown() -> None:
    async with Bench(FakeHandler(takes_ten_seconds), max_workers=4, poll_interval=0.1) as bench:
        task = bench.queue.add()
        bench.queue.scripted_leases = [Leased(leases=[bench.queue.lease_of(task)] * 3) for _ in range(40)]
        bench.start()
        await asyncio.sleep(9)
        assert bench.handlers[CLASS].executed == [task]


async def test_secrets_do_not_go_to_the_queue_with_a_reason() -> None:
    async def tell(_lease: Lease) -> Outcome:
        raise ValueError("the password is hunter2")

    async with Bench(FakeHandler(tell)) as bench:
        bench.queue.add()
        with capture_logs() as logs:
            bench.start()
            await asyncio.sleep(1)
        [report] = bench.queue.accepted
        assert report.outcome.reason == "ValueError: the password is ***"
        assert "hunter2" not in str([line for line in logs if line["event"] == "task executed"])


async def test_what_escapes_from_a_handler_frees_its_slot_and_counts_as_a_failure() -> None:
    class Escaping(BaseException):
        """No Exception."""

    async def escape(_lease: Lease) -> Outcome:
        raise Escaping

    async with Bench({CLASS: FakeHandler(escape), "Good": FakeHandler()}, max_workers=1) as bench:
        escaped, good = bench.queue.add(), bench.queue.add("Good")
        bench.start()
        await asyncio.sleep(1)
        assert (bench.queue.verdicts(escaped), bench.queue.verdicts(good)) == (["failure"], ["success"])
        assert (bench.worker.stats.active, bench.worker.stats.failed) == (0, 1)
        assert await bench.drained()
