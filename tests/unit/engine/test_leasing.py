"""How the worker asks for tasks, on a queue in memory and in virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from structlog.testing import capture_logs
from support.memory_queue import CLASS, Bench, FakeHandler
from support.waiting import until

from gorge_worker.errors import BackendUnavailable, QueueTrouble
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.protocol import Features, Leased, Unusable

pytestmark = pytest.mark.virtual_time


async def takes_a_second(_lease: Lease) -> Outcome:
    await asyncio.sleep(1.0)
    return Outcome.success()


def gaps(bench: Bench) -> list[float]:
    times = [time for time, _ in bench.queue.requests]
    return [later - earlier for earlier, later in pairwise(times)]


async def test_no_more_is_asked_for_than_there_are_free_slots() -> None:
    async with Bench(FakeHandler(takes_a_second), max_workers=3, lease_limit=50) as bench:
        for _ in range(10):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(20)
        assert len(bench.queue.accepted) == 10
        assert {request.limit for _, request in bench.queue.requests} <= {1, 2, 3}
        assert bench.handlers[CLASS].peak == 3


async def test_a_full_queue_is_worked_through_without_a_pause() -> None:
    async with Bench(FakeHandler(takes_a_second), max_workers=2, lease_limit=2, poll_interval=60.0) as bench:
        for _ in range(20):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(11)
        assert len(bench.queue.accepted) == 20


async def test_while_every_slot_is_taken_the_queue_is_left_alone() -> None:
    async with Bench(FakeHandler(takes_a_second), max_workers=1) as bench:
        bench.queue.add()
        bench.start()
        await asyncio.sleep(0.5)
        assert len(bench.queue.requests) == 1


async def test_a_slow_task_does_not_hold_up_the_others() -> None:
    release = asyncio.Event()

    async def first_hangs(lease: Lease) -> Outcome:
        if lease.task.id == 1:
            await release.wait()
        return Outcome.success()

    async with Bench(FakeHandler(first_hangs), max_workers=2) as bench:
        for _ in range(9):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(5)
        assert sorted(report.lease.task.id for report in bench.queue.accepted) == list(range(2, 10))
        release.set()
        await asyncio.sleep(1)
        assert len(bench.queue.accepted) == 9


async def test_an_empty_queue_is_polled_ever_more_slowly_up_to_the_interval() -> None:
    async with Bench(poll_interval=1.0, idle_timeout=0.0) as bench:
        bench.start()
        await asyncio.sleep(30)
        found = gaps(bench)
        assert found[0] < 0.05
        assert max(found) <= 1.0
        assert min(found[-10:]) >= 0.9


async def test_hibernation_lets_connections_go_once_and_still_finds_work() -> None:
    async with Bench(poll_interval=0.5, idle_timeout=10.0) as bench:
        bench.start()
        await asyncio.sleep(60)
        assert bench.queue.rests == 1
        assert min(gaps(bench)[-3:]) > 4
        bench.queue.add()
        await asyncio.sleep(7)
        assert len(bench.queue.accepted) == 1
        await asyncio.sleep(60)
        assert bench.queue.rests == 2


async def test_follow_ups_end_a_pause_at_once() -> None:
    async def spawn(_lease: Lease) -> Outcome:
        await asyncio.sleep(400)
        bench.queue.add("Child")
        return Outcome.success((NewTask(task_class="Child"),))

    child = FakeHandler()
    async with Bench({CLASS: FakeHandler(spawn), "Child": child}, poll_interval=300.0) as bench:
        bench.queue.add()
        bench.start()
        await asyncio.sleep(402)
        assert child.executed == [2]


async def test_while_more_tasks_wait_for_their_turn_than_slots_are_free_nothing_is_leased() -> None:
    turns = asyncio.Semaphore(1)

    async def in_turn(_lease: Lease) -> Outcome:
        handler.waiting += 1
        async with turns:
            handler.waiting -= 1
            await asyncio.sleep(1)
        return Outcome.success()

    handler = FakeHandler(in_turn)
    async with Bench(handler, max_workers=8, lease_limit=8) as bench:
        for _ in range(40):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(41)
        assert len(bench.queue.accepted) == 40, "one a second, without a gap"
        sizes = [request.limit for _, request in bench.queue.requests if request.limit]
        assert sizes[0] == 8
        assert set(sizes[1:8]) == {4}, "half of the slots at a time"


async def test_a_long_poll_replaces_the_pauses() -> None:
    async with Bench(features=Features(long_poll=25.0)) as bench:
        bench.start()
        await asyncio.sleep(120)
        assert len(bench.queue.requests) <= 5
        bench.queue.add()
        await asyncio.sleep(0.01)
        assert len(bench.queue.accepted) == 1


async def test_a_long_poll_for_other_classes_ends_when_a_paused_backend_may_be_tried_again() -> None:
    down = True

    async def execute(_lease: Lease) -> Outcome:
        if down:
            raise BackendUnavailable("down")
        return Outcome.success()

    handlers = {"A": FakeHandler(execute, backend="php"), "B": FakeHandler()}
    async with Bench(handlers, features=Features(long_poll=25.0, class_filter=True)) as bench:
        for _ in range(4):
            bench.queue.add("A")
        bench.start()
        await asyncio.sleep(0.5)
        down = False
        fresh = bench.queue.add("A")
        await asyncio.sleep(1)
        assert bench.queue.verdicts(fresh) == ["success"]


async def test_a_queue_that_does_not_hold_its_long_poll_is_polled_with_pauses() -> None:
    async with Bench(features=Features(long_poll=25.0), idle_timeout=0.0) as bench:
        bench.queue.scripted_leases = [Leased() for _ in range(1000)]
        bench.start()
        await asyncio.sleep(30)
        assert 25 < len(bench.queue.requests) < 60


async def test_only_classes_with_a_handler_are_asked_for_where_the_queue_can_filter() -> None:
    async with Bench({"A": FakeHandler(), "B": FakeHandler()}, features=Features(class_filter=True)) as bench:
        foreign, own = bench.queue.add("Foreign"), bench.queue.add("B")
        bench.start()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(own) == ["success"]
        assert bench.queue.verdicts(foreign) == []
        assert bench.queue.requests[0][1].classes.only == ("A", "B")


async def test_a_fallback_asks_for_any_class() -> None:
    async with Bench({"A": FakeHandler(), "*": FakeHandler()}, features=Features(class_filter=True)) as bench:
        task = bench.queue.add("Whatever")
        bench.start()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(task) == ["success"]


async def test_what_nothing_here_executes_goes_back_and_counts_as_an_empty_answer() -> None:
    async with Bench(poll_interval=1.0, idle_timeout=0.0) as bench:
        for _ in range(200):
            bench.queue.add("Foreign")
        with capture_logs() as logs:
            bench.start()
            await asyncio.sleep(20)
        assert len(bench.queue.requests) < 40, "foreign tasks do not make it poll fast"
        assert {(str(one.outcome.verdict), one.outcome.wait) for one in bench.queue.accepted} == {("release", 60)}
        assert len([line for line in logs if line["log_level"] == "warning"]) == 1
        assert bench.worker.stats.failed == 0


async def test_trouble_is_backed_off_from_logged_once_and_survived() -> None:
    async with Bench(poll_interval=0.1) as bench:
        bench.queue.down = True
        with capture_logs() as logs:
            bench.start()
            await asyncio.sleep(60)
            assert 10 < len(bench.queue.requests) < 45
            bench.queue.down = False
            bench.queue.add()
            await asyncio.sleep(3)
        assert len(bench.queue.accepted) == 1
        events = [line["event"] for line in logs if line["log_level"] in ("warning", "info")]
        assert events.count("no lease, the queue is asked again") == 1
        assert events.count("the queue answers again") == 1


async def test_the_queue_is_not_asked_before_it_wants_to_be() -> None:
    async with Bench() as bench:

        async def busy(_request: object) -> Leased:
            asked.append(bench.clock.boottime())
            raise QueueTrouble("busy", retry_after=30.0)

        asked: list[float] = []
        bench.queue.lease = busy  # type: ignore[method-assign, assignment]
        bench.start()
        await asyncio.sleep(100)
        assert len(asked) == 4


async def test_a_task_that_comes_again_while_it_runs_is_executed_once_and_reported_under_the_newer_lease() -> None:
    async with Bench(FakeHandler(takes_a_second), max_workers=3) as bench:
        task = bench.queue.add()
        again = bench.queue.lease_of(task, "owner 2", 9000)
        bench.start()
        await asyncio.sleep(0.1)
        bench.queue.scripted_leases = [Leased(leases=[again, again])]
        await asyncio.sleep(3)
        assert bench.handlers[CLASS].executed == [task]
        assert [report.lease.owner for report in bench.queue.accepted] == ["owner 2"]


async def test_more_than_was_asked_for_waits_for_slots() -> None:
    async with Bench(FakeHandler(takes_a_second), max_workers=1) as bench:
        ids = [bench.queue.add() for _ in range(4)]
        bench.queue.scripted_leases = [Leased(leases=[bench.queue.lease_of(one) for one in ids])]
        bench.queue.available_at.clear()
        bench.start()
        await asyncio.sleep(5)
        assert bench.handlers[CLASS].executed == ids
        assert bench.handlers[CLASS].peak == 1


async def test_a_task_that_cannot_be_read_fails_for_good_and_its_neighbours_run() -> None:
    async with Bench() as bench:
        good = bench.queue.add()
        bad = Lease(task=Task(id=77, task_class=""), owner="o", expires=2**40, ends_at=1e9)
        bench.queue.scripted_leases = [
            Leased(leases=[bench.queue.lease_of(good)], unusable=[Unusable(bad, "data is no text")])
        ]
        bench.queue.available_at.clear()
        bench.start()
        await asyncio.sleep(1)
        assert bench.queue.verdicts(good) == ["success"]
        assert bench.queue.verdicts(77) == ["permanent-failure"]
        assert (bench.worker.stats.processed, bench.worker.stats.failed) == (1, 1)


async def test_a_paused_backend_stops_the_leasing_of_its_classes_only() -> None:
    async def refuse(_lease: Lease) -> Outcome:
        raise BackendUnavailable("no rights")

    sick, well = FakeHandler(refuse, backend="conduit"), FakeHandler()
    async with Bench({"Sick": sick, "Well": well}, features=Features(class_filter=True)) as bench:
        for _ in range(20):
            bench.queue.add("Sick")
        bench.start()
        await asyncio.sleep(0.5)
        assert bench.queue.requests[-1][1].classes.only == ("Well",)
        assert len(sick.executed) < 8
        good = bench.queue.add("Well")
        await asyncio.sleep(1)
        assert bench.queue.verdicts(good) == ["success"]


async def test_without_a_filter_tasks_of_a_paused_backend_go_back_without_a_hot_loop() -> None:
    async def refuse(_lease: Lease) -> Outcome:
        raise BackendUnavailable("no rights")

    sick, well = FakeHandler(refuse, backend="conduit"), FakeHandler()
    async with Bench({"Sick": sick, "Well": well}, poll_interval=1.0) as bench:
        for _ in range(300):
            bench.queue.add("Sick")
        bench.start()
        await asyncio.sleep(30)
        assert len(bench.queue.requests) < 120
        assert bench.worker.stats.failed == 0
        assert {str(one.outcome.verdict) for one in bench.queue.accepted} == {"release"}


async def test_when_all_backends_are_paused_nothing_is_leased_but_one_probe_at_a_time() -> None:
    healthy = False

    async def maybe(_lease: Lease) -> Outcome:
        if not healthy:
            raise BackendUnavailable("down")
        return Outcome.success()

    handler = FakeHandler(maybe, backend="conduit")
    async with Bench(handler, max_workers=8, lease_limit=8) as bench:
        for _ in range(50):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(10)
        assert len(handler.executed) <= 8 + 5
        assert {request.limit for _, request in bench.queue.requests[1:]} == {1}
        healthy = True
        await asyncio.sleep(60)
        assert bench.worker.stats.processed == 50
        assert bench.worker.stats.failed == 0


@pytest.mark.virtual_time(drift=1e-4)
@pytest.mark.parametrize("wait", range(10))
async def test_probing_goes_on_however_the_looks_at_the_clock_fall(wait: int) -> None:
    async def refuse(_lease: Lease) -> Outcome:
        await asyncio.sleep(0.01 * wait)
        raise BackendUnavailable("down")

    handler = FakeHandler(refuse, backend="conduit")
    async with Bench(handler) as bench:
        for _ in range(500):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(1000)
        assert bench.clock.boottime() - handler.last < 40, "the last probe was not long ago"


async def test_leasing_stops_while_too_many_outcomes_are_unreported() -> None:
    async with Bench(max_workers=4) as bench:
        bench.queue.report = never_taken  # type: ignore[method-assign, assignment]
        for _ in range(3000):
            bench.queue.add()
        bench.start()
        await asyncio.sleep(30)
        assert bench.options.most_unreported <= len(bench.handlers[CLASS].executed) <= bench.options.most_unreported + 8


async def never_taken(_reports: object) -> list[object]:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


async def test_an_error_of_the_engine_is_not_swallowed() -> None:
    async with Bench() as bench:

        async def broken(_request: object) -> Leased:
            raise ZeroDivisionError

        bench.queue.lease = broken  # type: ignore[method-assign, assignment]
        bench.start()
        assert bench.run is not None
        run = bench.run
        await until(run.done)
        with pytest.raises(ZeroDivisionError):
            run.result()
        bench.run = None
