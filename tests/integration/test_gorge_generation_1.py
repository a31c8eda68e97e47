"""Whole workers on an imitation of the Go queue server of generation 1, over real sockets: every report names its
lease, follow-ups are enqueued once, and nothing is lost or finished twice, whatever answers are lost and whichever
generation comes up again after a restart.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial

import pytest
from support.go_queue import GoServer, ShiftedClock
from support.go_worker import all_archived, open_queue, running_worker, while_time_flies
from support.memory_queue import CLASS, FakeHandler
from support.waiting import until

from gorge_worker.model import Lease, NewTask, Outcome
from gorge_worker.queues.protocol import ClassFilter, LeaseRequest, Receipt, Report

FINAL = {"success", "failure"}


class Mixed(FakeHandler):
    """What comes of a task is drawn: the first time anything, then success with a follow-up, whose end is success."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(self._draw)
        self._rng = rng

    async def _draw(self, lease: Lease) -> Outcome:
        await asyncio.sleep(self._rng.choice([0, 0, 0.01, 0.1, 0.8]))
        if lease.task.data.startswith("child"):
            return Outcome.success()
        first = self.executed.count(lease.task.id) == 1
        wait = [Outcome.temporary_failure("busy", wait=10), Outcome.yielded(7)]
        if first and (outcome := self._rng.choice([None, Outcome.permanent_failure("no"), *wait])):
            return outcome
        return Outcome.success((NewTask(task_class=CLASS, data=f"child of {lease.task.id}"),))


def has_executed(handler: Mixed, so_many: int) -> bool:
    return len(handler.executed) >= so_many


def assert_all_is_well(server: GoServer, handler: Mixed, tasks: int) -> None:
    assert handler.overlaps == []
    assert server.mixed == []
    rows = server.table.rows.values()
    assert {row.result for row in rows} == FINAL
    parents = Counter(row.data for row in rows if row.data.startswith("child"))
    finished = [row.id for row in rows if row.id <= tasks and row.result == "success"]
    assert parents == {f"child of {task_id}": 1 for task_id in finished}


@pytest.mark.limit(60)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_nothing_is_lost_and_nothing_is_finished_twice_although_answers_are_lost(seed: int) -> None:
    clock, handler = ShiftedClock(), Mixed(random.Random(seed))
    async with GoServer(clock, generation=1, seed=seed) as server, AsyncExitStack() as stack:
        for _ in range(80):
            server.table.enqueue(CLASS)
        server.losses = 0.1
        for worker_seed in (seed, seed + 100):
            await stack.enter_async_context(running_worker(server, handler, worker_seed, max_workers=6, lease_limit=3))
        await until(while_time_flies(clock, all_archived(server)), within=50)
        server.losses = 0.0
    assert_all_is_well(server, handler, 80)
    assert not any(server.called(route) for route in ("complete", "fail", "yield"))
    assert server.called("renew"), "and leases were renewed meanwhile"


@pytest.mark.limit(60)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_queue_may_turn_from_one_generation_into_the_other_and_back(seed: int) -> None:
    clock, handler = ShiftedClock(), Mixed(random.Random(seed))
    workers = (str(seed), str(seed + 100))
    async with GoServer(clock, generation=1, seed=seed) as server, AsyncExitStack() as stack:
        for _ in range(120):
            server.table.enqueue(CLASS)
        for worker in workers:
            await stack.enter_async_context(running_worker(server, handler, int(worker), max_workers=6, lease_limit=3))
        for generation, executed in ((0, 30), (1, 60), (0, 90), (1, 120)):
            await until(partial(has_executed, handler, executed), within=20)
            await server.restart(generation, *workers)
        await until(while_time_flies(clock, all_archived(server)), within=40)
    assert_all_is_well(server, handler, 120)
    assert server.called("finalize")
    assert server.called("complete")


async def test_a_newer_lease_is_not_broken_by_a_stale_worker() -> None:
    gate = asyncio.Event()

    async def execute(_: Lease) -> Outcome:
        await gate.wait()
        return Outcome.success((NewTask(task_class=CLASS, data="child"),))

    handler = FakeHandler(execute)
    async with GoServer(ShiftedClock(), generation=1) as server:
        row = server.table.enqueue(CLASS)
        async with running_worker(server, handler, 1):
            await until(lambda: handler.running)
            row.owner = "somebody else"
            gate.set()
            await until(lambda: server.called("finalize"))
        assert (row.owner, row.result) == ("somebody else", None)
        assert list(server.table.rows) == [row.id]
        assert len(server.called("finalize")) == 1, "never to be tried again"


async def test_an_execution_whose_lease_is_taken_away_is_cut_and_not_reported() -> None:
    clock = ShiftedClock()

    async def execute(_: Lease) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    handler = FakeHandler(execute)
    async with GoServer(clock, generation=1) as server:
        row = server.table.enqueue(CLASS)
        async with running_worker(server, handler, 1):
            await until(lambda: handler.running)
            row.owner, row.expires = "somebody else", (row.expires or 0) + 100
            await until(while_time_flies(clock, lambda: not handler.running), within=15)
        assert (row.owner, row.result, row.failures) == ("somebody else", None, 0)
        assert not server.called("finalize")
        assert not server.called("resolve")


async def test_a_lease_shorter_than_the_execution_is_kept() -> None:
    clock = ShiftedClock()

    async def execute(_: Lease) -> Outcome:
        end = clock.boottime() + 120
        while clock.boottime() < end:  # noqa: ASYNC110 - it is the clock that is waited for
            await asyncio.sleep(0.01)
        return Outcome.success()

    handler, other = FakeHandler(execute), FakeHandler()
    async with GoServer(clock, generation=1) as server, AsyncExitStack() as stack:
        server.table.lease_duration = 40
        row = server.table.enqueue(CLASS)
        await stack.enter_async_context(running_worker(server, handler, 1))
        await until(lambda: handler.running)
        await stack.enter_async_context(running_worker(server, other, 2))
        await until(while_time_flies(clock, lambda: row.result), within=15)
        assert (row.result, handler.executed, other.executed) == ("success", [row.id], [])
        assert server.called("renew")


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_report_waits_for_the_generation_that_its_lease_is_from(seed: int) -> None:
    gate = asyncio.Event()

    async def execute(_: Lease) -> Outcome:
        await gate.wait()
        return Outcome.success((NewTask(task_class="Child"),))

    handler = FakeHandler(execute)
    async with GoServer(ShiftedClock(), generation=1) as server:
        row = server.table.enqueue(CLASS)
        async with running_worker(server, handler, seed):
            await until(lambda: handler.running)
            await server.restart(0, str(seed))
            gate.set()
            await until(lambda: server.called(f"tasks/{row.id}"), what="the task looked up")
            assert row.result is None
            await server.restart(1, str(seed))
            await until(lambda: row.result)
        assert (str(row.result), handler.executed) == ("success", [row.id])
        assert server.mixed == []
        assert [one.task_class for one in server.table.rows.values()] == [CLASS, "Child"]
        assert not server.called("complete")
        assert not server.called("enqueue")


async def test_only_the_wanted_classes_are_leased_and_no_extension_is_asked_for() -> None:
    async with GoServer(ShiftedClock(), generation=1) as server, open_queue(server, 1) as queue:
        server.table.enqueue("Foreign")
        wanted = server.table.enqueue("Some")
        classes = ClassFilter(only=("Some",), without=("Paused",))
        leased = await queue.lease(LeaseRequest(limit=4, classes=classes, wait=20.0))
        assert [lease.task.id for lease in leased.leases] == [wanted.id]
        assert server.called("lease") == [{"limit": 4, "taskClasses": ["Some"]}]
        [result] = await queue.report([Report(lease=leased.leases[0], outcome=Outcome.released("full"), duration=0)])
        assert result.receipt is Receipt.ACCEPTED
        assert wanted.owner == "(yield)"
