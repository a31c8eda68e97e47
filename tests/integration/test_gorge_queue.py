"""Whole workers on an imitation of the Go queue server, over real sockets: nothing stranded, nothing executed twice
at once, no hot loop, whatever answers are lost.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from aiohttp import web
from support.go_queue import GoServer, ShiftedClock, hang
from support.go_worker import all_archived, open_queue, running_worker, while_time_flies
from support.memory_queue import CLASS, FakeHandler
from support.waiting import until

from gorge_worker.model import Lease, NewTask, Outcome
from gorge_worker.queues.gorge import wire
from gorge_worker.queues.protocol import LeaseRequest


@pytest.mark.limit(60)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_two_workers_finish_everything_although_answers_are_lost(seed: int) -> None:
    rng, clock = random.Random(seed), ShiftedClock()
    attempts: Counter[int] = Counter()

    async def execute(lease: Lease) -> Outcome:
        attempts[lease.task.id] += 1
        await asyncio.sleep(rng.choice([0, 0, 0.01, 0.2]))
        if attempts[lease.task.id] > 1:
            return Outcome.success()
        choices = [Outcome.temporary_failure("busy", wait=10), Outcome.yielded(7), Outcome.permanent_failure("no")]
        return rng.choice([Outcome.success(), *choices])

    handler = FakeHandler(execute)
    async with GoServer(clock) as server, AsyncExitStack() as stack:
        for number in range(80):
            row = server.table.enqueue(CLASS, priority=rng.choice([1000, 4000]))
            if number % 3 == 0:
                row.owner, row.expires = "(yield)", server.table.now() - 10
        server.lose = {"lease": 4, "complete": 3, "fail": 3, "yield": 3}
        for worker_seed in (seed, seed + 100):
            await stack.enter_async_context(running_worker(server, handler, worker_seed, max_workers=6, lease_limit=3))
        await until(while_time_flies(clock, all_archived(server)), within=40)
        assert not any(server.lose.values())
    assert handler.overlaps == []
    assert {row.result for row in server.table.rows.values()} == {"success", "failure"}
    assert max(attempts.values()) <= 3


async def test_a_shutdown_strands_nothing() -> None:
    clock, gate = ShiftedClock(), asyncio.Event()

    async def execute(_: Lease) -> Outcome:
        await gate.wait()
        return Outcome.success()

    handler = FakeHandler(execute)
    async with GoServer(clock) as server:
        for number in range(20):
            row = server.table.enqueue(CLASS)
            if number % 2:
                row.owner, row.expires = "(yield)", server.table.now() - 10
        async with running_worker(server, handler, 1, max_workers=3, lease_limit=3):
            await until(lambda: len(handler.running) == 3)
            assert len(server.table.stranded()) > 3, "the server hides some"
            asyncio.get_running_loop().call_later(0.2, gate.set)
        assert server.table.stranded() == []
    assert sum(row.result == "success" for row in server.table.rows.values()) == 3


async def test_a_shutdown_during_a_lease_call_strands_nothing() -> None:
    async with GoServer(ShiftedClock()) as server, open_queue(server, 1) as queue:
        task = server.table.enqueue(CLASS)

        async def lease_and_hang(request: web.Request) -> web.StreamResponse:
            server.table.lease(request.headers["X-Lease-Owner"], 1)
            return await hang(request)

        server.instead["lease"] = lease_and_hang
        call = asyncio.create_task(queue.lease(LeaseRequest(limit=1)))
        await until(lambda: task.owner)
        call.cancel()
        await asyncio.wait([call])
        await queue.give_back()
        assert task.owner == "(yield)"


async def test_a_task_that_always_fails_does_not_spin() -> None:
    clock = ShiftedClock()

    async def execute(_: Lease) -> Outcome:
        return Outcome.temporary_failure("busy", wait=50)

    handler = FakeHandler(execute)
    async with GoServer(clock) as server:
        row = server.table.enqueue(CLASS)
        began = clock.boottime()
        async with running_worker(server, handler, 1):
            await until(while_time_flies(clock, lambda: len(handler.executed) == 4, step=0.5), within=15)
            assert clock.boottime() - began >= 3 * 49
            await until(lambda: row.failures == 4)
    assert len(server.called("fail")) == 4
    assert len(server.called("yield")) <= 8


async def test_follow_ups_are_executed_and_none_is_doubled_by_a_lost_completion() -> None:
    async def execute(lease: Lease) -> Outcome:
        if lease.task.data == "child":
            return Outcome.success()
        return Outcome.success(tuple(NewTask(task_class=CLASS, data="child") for _ in range(3)))

    handler = FakeHandler(execute)
    async with GoServer(ShiftedClock()) as server:
        parent = server.table.enqueue(CLASS, priority=3500)
        server.lose["complete"] = 2
        async with running_worker(server, handler, 1):
            await until(lambda: len(server.table.rows) == 4 and not server.table.active())
    assert sorted(handler.executed) == sorted(server.table.rows)
    assert {row.priority for row in server.table.rows.values()} == {parent.priority}


async def test_answers_too_large_to_read_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_ANSWER", 5000)
    clock, handler = ShiftedClock(), FakeHandler()
    async with GoServer(clock) as server:
        big = [server.table.enqueue(CLASS, data="x" * 2000) for _ in range(4)]
        giant = server.table.enqueue(CLASS, data="x" * 9000)
        small = [server.table.enqueue(CLASS) for _ in range(4)]
        async with running_worker(server, handler, 1):
            await until(while_time_flies(clock, lambda: all(row.result for row in big + small)), within=15)
        assert giant.result is None
        assert server.table.stranded() == []
    assert handler.overlaps == []
