"""A lease that nobody wants any more strands nothing, whenever its caller goes."""

from __future__ import annotations

import asyncio
import random

import pytest
from stores.factories import new
from stores.service_bench import MOMENT, Bench, virtually
from structlog.testing import capture_logs


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
