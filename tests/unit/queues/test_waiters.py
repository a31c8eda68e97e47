"""Who is served when several wait: in order, and no more of them than there are tasks for."""

from __future__ import annotations

import asyncio

import pytest
from stores.factories import new, report_of
from stores.service_bench import MOMENT, Bench, virtually

from gorge_worker.model import Outcome, Task
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.store import StoreError, StoreLease


@virtually
async def test_waiting_costs_one_question_a_second_and_no_lease(bench: Bench) -> None:
    waiting = [bench.waiting() for _ in range(50)]
    await asyncio.sleep(10)
    assert bench.store.lease_calls == 50
    await asyncio.gather(*waiting)


@virtually
async def test_one_task_wakes_one_waiter_and_hardly_costs_another_lease(bench: Bench) -> None:
    waiting = [bench.waiting() for _ in range(50)]
    await asyncio.sleep(MOMENT)
    before = bench.store.lease_calls
    [task_id] = await bench.add()
    await asyncio.sleep(MOMENT)
    assert await waiting[0] == [task_id], "the first in line"
    assert [one.done() for one in waiting[1:]] == [False] * 49
    assert bench.store.lease_calls - before <= 3
    assert await asyncio.gather(*waiting[1:]) == [[]] * 49


@virtually
async def test_many_tasks_wake_as_many_waiters_in_their_order(bench: Bench) -> None:
    waiting = [bench.waiting() for _ in range(30)]
    await asyncio.sleep(MOMENT)
    ids = await bench.add(*[new() for _ in range(20)])
    await asyncio.sleep(0)
    got = await asyncio.gather(*waiting[:20])
    assert [task_id for one in got for task_id in one] == ids
    assert bench.elapsed == pytest.approx(MOMENT)
    assert await asyncio.gather(*waiting[20:]) == [[]] * 10


@virtually
async def test_one_waiter_may_take_all_there_is(bench: Bench) -> None:
    first, second = bench.waiting(10), bench.waiting(10)
    await asyncio.sleep(MOMENT)
    ids = await bench.add(new(), new(), new())
    assert await first == ids
    assert await second == []


@virtually
async def test_a_task_goes_to_the_first_that_wants_its_class(bench: Bench) -> None:
    only_a, only_b, any_class = bench.waiting(1, "A"), bench.waiting(1, "B", "C"), bench.waiting()
    await asyncio.sleep(MOMENT)
    [c] = await bench.add(new("C"))
    assert await only_b == [c]
    [d] = await bench.add(new("D"))
    assert await any_class == [d]
    assert not only_a.done()
    [_, a] = await bench.add(new("Z"), new("A"))
    assert await only_a == [a]
    assert bench.elapsed == pytest.approx(MOMENT)


@virtually
async def test_tasks_that_nobody_waits_for_wake_nobody(bench: Bench) -> None:
    waiting = bench.waiting(1, "A")
    await asyncio.sleep(MOMENT)
    before = bench.store.lease_calls
    for _ in range(20):
        await bench.add(new("B"))
        await asyncio.sleep(0.001)
    assert bench.store.lease_calls == before
    assert await waiting == []


@virtually
async def test_a_waiter_that_joins_later_with_another_class_is_served_too(bench: Bench) -> None:
    first = bench.waiting(1, "A")
    await asyncio.sleep(MOMENT)
    second = bench.waiting(1, "B")
    await asyncio.sleep(MOMENT)
    [b] = await bench.add(new("B"))
    assert await second == [b]
    assert bench.elapsed == pytest.approx(2 * MOMENT)
    assert await first == []


@virtually
async def test_a_task_that_comes_while_a_lease_finds_nothing_is_not_missed(bench: Bench) -> None:
    bench.store.answer_after = MOMENT
    waiting = bench.waiting()
    await asyncio.sleep(MOMENT / 2)
    [task_id] = await bench.add()
    assert await waiting == [task_id]
    assert bench.elapsed == pytest.approx(2 * MOMENT)


@virtually
async def test_nor_is_it_when_others_are_waiting_for_other_classes(bench: Bench) -> None:
    other = bench.waiting(1, "Other")
    await asyncio.sleep(MOMENT)
    bench.store.answer_after = MOMENT
    waiting = bench.waiting(1, "A")
    await asyncio.sleep(MOMENT / 2)
    bench.store.answer_after = 0.0
    [task_id] = await bench.add(new("A"))
    assert await waiting == [task_id]
    assert bench.elapsed == pytest.approx(2 * MOMENT)
    other.cancel()


@virtually
async def test_trouble_with_one_waiters_lease_is_its_own(bench: Bench) -> None:
    real = bench.store.lease

    async def lease(wanted: StoreLease) -> list[Task]:
        if wanted.owner == "owner-1" and broken:
            raise StoreError("broken")
        return await real(wanted)

    broken = False
    bench.store.lease = lease  # type: ignore[method-assign]
    first, second = bench.waiting(), bench.waiting()
    await asyncio.sleep(MOMENT)
    broken = True
    ids = await bench.add(new(), new())
    with pytest.raises(StoreError, match="broken"):
        await first
    assert await second == ids[:1]


@virtually
async def test_a_success_without_follow_ups_wakes_nobody(bench: Bench) -> None:
    task = await bench.hold()
    questions = 0
    real = bench.store.next_due

    async def counted(classes: ClassFilter) -> int | None:
        nonlocal questions
        questions += 1
        return await real(classes)

    bench.service._waiters._next_due = counted
    waiting = bench.waiting()
    await asyncio.sleep(MOMENT)
    before = questions
    await bench.service.report([report_of(task, Outcome.success())])
    await asyncio.sleep(0.001)
    assert questions == before
    waiting.cancel()
