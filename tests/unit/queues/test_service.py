"""The long poll, in virtual time: seconds pass only when nothing else can happen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from stores.factories import new, report_of
from stores.service_bench import MOMENT, Bench, virtually

from gorge_worker.model import Outcome, Task
from gorge_worker.queues.store import BadTask, StoreError


@virtually
async def test_a_lease_that_does_not_wait_answers_at_once(bench: Bench) -> None:
    assert await bench.lease(wait=0) == []
    [task_id] = await bench.add()
    assert await bench.lease(wait=0) == [task_id]
    assert bench.elapsed == 0


@virtually
async def test_a_lease_that_waits_does_not_wait_when_there_is_a_task(bench: Bench) -> None:
    ids = await bench.add(new(), new())
    assert await bench.lease(5) == ids
    assert bench.elapsed == 0


@virtually
async def test_a_wait_ends_with_nothing(bench: Bench) -> None:
    assert await bench.lease(wait=7.5) == []
    assert bench.elapsed == pytest.approx(7.5)


@virtually
async def test_no_wait_is_longer_than_thirty_seconds(bench: Bench) -> None:
    assert await bench.lease(wait=1e9) == []
    assert bench.elapsed == pytest.approx(30)


async def enqueue(bench: Bench, _: Task) -> None:
    await bench.add()


async def release(bench: Bench, task: Task) -> None:
    await bench.service.release([task])


async def report_release(bench: Bench, task: Task) -> None:
    await bench.service.report([report_of(task, Outcome.released("not ours"))])


async def report_followups(bench: Bench, task: Task) -> None:
    await bench.service.report([report_of(task, Outcome.success((new("Child"),)))])


async def awaken(bench: Bench, task: Task) -> None:
    await bench.store.yield_task(task.id, 3000)
    assert await bench.service.awaken([task.id]) == 1


WAKING = [enqueue, release, report_release, report_followups, awaken]


@pytest.mark.parametrize("wake", WAKING)
def test_a_waiting_lease_is_answered_as_soon_as_there_is_a_task(wake: Callable[[Bench, Task], Awaitable[None]]) -> None:
    @virtually
    async def check(bench: Bench) -> None:
        task = await bench.hold()
        waiting = bench.waiting()
        await asyncio.sleep(MOMENT)
        assert not waiting.done()
        await wake(bench, task)
        assert len(await waiting) == 1
        assert bench.elapsed == pytest.approx(MOMENT)

    check()


async def fail(bench: Bench, task: Task) -> None:
    await bench.service.fail(task.id, permanent=False, retry_wait=1)


async def yield_task(bench: Bench, task: Task) -> None:
    await bench.service.yield_task(task.id, 5)


async def report_failure(bench: Bench, task: Task) -> None:
    await bench.service.report([report_of(task, Outcome.temporary_failure("later", 1))])


async def add_delayed(bench: Bench, _: Task) -> None:
    await bench.add(new(delay_until=int(bench.clock.wall()) + 1))


@pytest.mark.parametrize(("wake", "seconds"), [(fail, 2), (yield_task, 6), (report_failure, 2), (add_delayed, 2)])
def test_a_waiting_lease_is_answered_in_the_second_in_which_a_wait_is_over(
    wake: Callable[[Bench, Task], Awaitable[None]], seconds: int
) -> None:
    @virtually
    async def check(bench: Bench) -> None:
        task = await bench.hold()
        waiting = bench.waiting()
        await asyncio.sleep(MOMENT)
        await wake(bench, task)
        assert len(await waiting) == 1
        assert bench.elapsed == pytest.approx(seconds)

    check()


@virtually
async def test_a_lease_that_runs_out_is_passed_on_in_the_next_second(bench: Bench) -> None:
    task = await bench.hold()
    await asyncio.sleep(90)
    assert await bench.lease() == [task.id]
    assert bench.elapsed == pytest.approx(101)


@virtually
async def test_a_task_of_another_process_is_found_within_a_second(bench: Bench) -> None:
    waiting = bench.waiting()
    await asyncio.sleep(5.5)
    await bench.store.enqueue([new()])
    assert await waiting == [1]
    assert bench.elapsed <= 6.5


@virtually
async def test_a_store_in_trouble_is_told_to_those_who_ask_and_those_who_wait(bench: Bench) -> None:
    waiting = [bench.waiting() for _ in range(3)]
    await asyncio.sleep(MOMENT)
    bench.store.trouble = True
    with pytest.raises(StoreError):
        await bench.lease()
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(result, StoreError)
    bench.store.trouble = False
    again = bench.waiting()
    await asyncio.sleep(MOMENT)
    [task_id] = await bench.add()
    assert await again == [task_id]


@virtually
async def test_an_owner_that_no_column_holds_is_a_bad_task(bench: Bench) -> None:
    with pytest.raises(BadTask):
        await bench.service.lease(owner="x" * 65, limit=1, wait=5)


@virtually
async def test_everything_else_of_a_store_is_passed_through(bench: Bench) -> None:
    first, second, third = await bench.add(new("A", "1"), new("B"), new("C"))
    service = bench.service
    assert (await service.task(first)).data == "1"
    assert (await service.complete(first, 5)).duration == 5
    assert (await service.cancel(second)).task.id == second
    await service.fail(third, permanent=True)
    assert (await service.stats()).archived == 3
    assert await service.active_tasks(limit=5, offset=0, owner="x") == []
    assert await service.awaken([1]) == 0
