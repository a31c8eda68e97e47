"""The long poll, in virtual time: seconds pass only when nothing else can happen."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from stores.factories import new, report_of
from stores.memory import MemoryStore
from structlog.testing import capture_logs
from support.virtual_time import VirtualClock, run_virtually

from gorge_worker.model import NewTask, Outcome, Task
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import BadTask, StoreError, StoreLease

MOMENT = 0.2
"""Seconds: less than the second after which the store is asked again anyway."""


class SlowStore(MemoryStore):
    """Leases with a pause after the lease and before the answer, in which its caller may go away."""

    answer_after = 0.0

    async def lease(self, wanted: StoreLease) -> list[Task]:
        tasks = await super().lease(wanted)
        await asyncio.sleep(self.answer_after)
        return tasks


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = SlowStore(self.clock)
        self.service = QueueService(
            self.store,
            lease_duration=100,
            clock=self.clock,
            rng=random.Random(1),
        )
        self.started = self.clock.boottime()
        self.owners = 0

    @property
    def elapsed(self) -> float:
        return self.clock.boottime() - self.started

    async def lease(self, limit: int = 1, *classes: str, wait: float = 20.0) -> list[int]:
        self.owners += 1
        tasks = await self.service.lease(owner=f"owner-{self.owners}", limit=limit, task_classes=classes, wait=wait)
        return [task.id for task in tasks]

    def waiting(self, limit: int = 1, *classes: str, wait: float = 20.0) -> asyncio.Task[list[int]]:
        return asyncio.create_task(self.lease(limit, *classes, wait=wait))

    async def add(self, *tasks: NewTask) -> list[int]:
        return [task.id for task in await self.service.enqueue(tasks or [new()])]

    async def hold(self) -> Task:
        """A task that somebody has leased."""
        await self.store.enqueue([new()])
        [task] = await self.service.lease(owner="holder", limit=1)
        return task


Test = Callable[[Bench], Coroutine[Any, Any, None]]


def virtually(test: Test) -> Callable[[], None]:
    def run() -> None:
        async def with_bench() -> None:
            bench = Bench()
            await test(bench)
            bench.store.trouble = False
            await bench.service.close()

        run_virtually(with_bench())

    run.__name__ = test.__name__
    return run


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
async def test_a_waiter_that_goes_away_takes_nothing_with_it(bench: Bench) -> None:
    gone, stays = bench.waiting(), bench.waiting()
    await asyncio.sleep(MOMENT)
    gone.cancel()
    [task_id] = await bench.add()
    assert await stays == [task_id]
    assert gone.cancelled()


async def cancelled_at(bench: Bench, waiting: asyncio.Task[list[int]], moment: float) -> None:
    """Cancels a lease at a moment, after which its task must be there for the next one."""
    await asyncio.sleep(moment - bench.elapsed)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await bench.service.settled()


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.2])
def test_a_lease_cancelled_while_the_store_leases_for_it_is_given_back(moment: float) -> None:
    @virtually
    async def check(bench: Bench) -> None:
        await bench.add()
        bench.store.answer_after = 0.2
        waiting = bench.waiting()
        await asyncio.sleep(0)
        await cancelled_at(bench, waiting, moment)
        task = await bench.store.task(1)
        assert waiting.done()
        if waiting.cancelled():
            assert (task.lease_owner, task.failure_count) == (None, 0)

    check()


@pytest.mark.parametrize("steps", range(12))
def test_a_waiting_lease_cancelled_at_any_step_of_being_served_strands_nothing(steps: int) -> None:
    @virtually
    async def check(bench: Bench) -> None:
        waiting = bench.waiting()
        await asyncio.sleep(MOMENT)
        await bench.add()
        for _ in range(steps):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        if not waiting.cancelled():
            assert waiting.result() == [1]
            return
        assert await bench.lease(wait=5) == [1]
        assert bench.elapsed == pytest.approx(MOMENT)

    check()


@virtually
async def test_a_wait_that_ends_while_the_store_leases_for_it_strands_nothing(bench: Bench) -> None:
    waiting = bench.waiting(wait=1)
    await asyncio.sleep(0.9)
    bench.store.answer_after = 0.3
    await bench.add()
    assert await waiting == []
    bench.store.answer_after = 0.0
    assert await bench.lease() == [1]
    assert bench.elapsed == pytest.approx(1.2)


@virtually
async def test_the_next_in_line_gets_what_the_one_before_no_longer_wanted(bench: Bench) -> None:
    first, second = bench.waiting(), bench.waiting()
    await asyncio.sleep(MOMENT)
    bench.store.answer_after = 0.3
    await bench.add()
    await asyncio.sleep(0.1)
    first.cancel()
    assert await second == [1]


@virtually
async def test_a_lease_is_given_back_once_the_store_is_well_again(bench: Bench) -> None:
    await bench.add()
    bench.store.answer_after = 0.2
    waiting = bench.waiting()
    await asyncio.sleep(0.1)
    waiting.cancel()
    bench.store.trouble = True
    with capture_logs() as logs:
        await asyncio.sleep(10)
        bench.store.trouble = False
        await bench.service.settled()
    assert (await bench.store.task(1)).lease_owner is None
    assert [entry["event"] for entry in logs] == ["leases can't be given back yet"]


@virtually
async def test_giving_back_ends_with_the_lease(bench: Bench) -> None:
    await bench.add()
    bench.store.answer_after = 0.2
    waiting = bench.waiting()
    await asyncio.sleep(0.1)
    waiting.cancel()
    await asyncio.wait((waiting,))
    bench.store.trouble = True
    await bench.service.settled()
    assert 100 <= bench.elapsed <= 103


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
async def test_an_owner_that_no_column_holds_is_a_bad_task(bench: Bench) -> None:
    with pytest.raises(BadTask):
        await bench.service.lease(owner="x" * 65, limit=1, wait=5)


@virtually
async def test_closing_ends_every_wait_with_nothing(bench: Bench) -> None:
    waiting = [bench.waiting() for _ in range(3)]
    await asyncio.sleep(MOMENT)
    await bench.service.close()
    assert await asyncio.gather(*waiting) == [[]] * 3
    assert bench.elapsed == pytest.approx(MOMENT)


@virtually
async def test_closing_gives_back_what_a_waiter_was_about_to_get(bench: Bench) -> None:
    waiting = bench.waiting()
    await asyncio.sleep(MOMENT)
    bench.store.answer_after = 0.3
    await bench.add()
    await asyncio.sleep(0.1)
    await bench.service.close()
    assert await waiting == []
    assert bench.store.active[1].lease_owner is None


@virtually
async def test_closing_gives_back_what_a_cancelled_call_was_about_to_get(bench: Bench) -> None:
    await bench.add()
    bench.store.answer_after = 0.3
    waiting = bench.waiting()
    await asyncio.sleep(0.1)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await bench.service.close()
    assert bench.store.active[1].lease_owner is None


@virtually
async def test_closing_does_not_wait_for_ever_for_a_store_in_trouble(bench: Bench) -> None:
    await bench.add()
    bench.store.answer_after = 0.3
    waiting = bench.waiting()
    await asyncio.sleep(0.1)
    waiting.cancel()
    bench.store.trouble = True
    await bench.service.close()
    assert bench.elapsed <= 3


@virtually
async def test_a_success_without_follow_ups_wakes_nobody(bench: Bench) -> None:
    task = await bench.hold()
    questions = 0
    real = bench.store.next_due

    async def counted(task_classes: tuple[str, ...]) -> int | None:
        nonlocal questions
        questions += 1
        return await real(task_classes)

    bench.service._waiters._next_due = counted
    waiting = bench.waiting()
    await asyncio.sleep(MOMENT)
    before = questions
    await bench.service.report([report_of(task, Outcome.success())])
    await asyncio.sleep(0.001)
    assert questions == before
    waiting.cancel()


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


@pytest.mark.parametrize("seed", range(15))
def test_whatever_comes_and_goes_every_task_gets_to_somebody_who_stays(seed: int) -> None:
    """Waiters of all kinds come, give up and are cancelled at random; nothing stays leased by those who have gone."""
    rng = random.Random(seed)

    @virtually
    async def check(bench: Bench) -> None:
        received: list[int] = []

        async def caller() -> None:
            for _ in range(6):
                classes = rng.choice([(), ("A",), ("B",), ("A", "B")])
                call = bench.waiting(rng.choice([1, 1, 3]), *classes, wait=rng.choice([0, 0.5, 3.0]))
                if rng.random() < 0.4:
                    await asyncio.sleep(rng.choice([0, 0.001, 0.01, 0.4]))
                    call.cancel()
                await asyncio.wait((call,))
                if not call.cancelled():
                    received.extend(call.result())

        async def source() -> None:
            for _ in range(25):
                await bench.add(*[new(rng.choice("AB")) for _ in range(rng.choice([1, 2]))])
                await asyncio.sleep(rng.choice([0, 0.001, 0.2]))

        bench.store.answer_after = rng.choice([0, 0.001, 0.01])
        await asyncio.gather(source(), *[caller() for _ in range(8)])
        while more := await bench.lease(9, wait=3):
            received += more
        assert sorted(received) == sorted(bench.store.active)

    check()
