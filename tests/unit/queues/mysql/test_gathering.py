"""Calls that come at the same time are executed together, and one that spoils a group costs only itself."""

from __future__ import annotations

import asyncio
import random

import pytest

from gorge_worker.queues.mysql.gathering import Gathering
from gorge_worker.queues.mysql.trouble import Away, DoesNotFit, Duplicate

pytestmark = pytest.mark.virtual_time


class Bench:
    """Doubles numbers, a second a group. `bad` numbers spoil their group; `away` breaks every one."""

    def __init__(self, most: int = 100, lanes: int = 1) -> None:
        self.groups: list[list[int]] = []
        self.bad: dict[int, Exception] = {}
        self.away = False
        self.at_once = self.peak = 0
        self.gathering = Gathering(self._execute, most=most, lanes=lanes)

    async def _execute(self, calls: list[int]) -> list[int]:
        self.groups.append(calls)
        self.at_once += 1
        self.peak = max(self.peak, self.at_once)
        await asyncio.sleep(1)
        self.at_once -= 1
        if self.away:
            raise Away("the server is down")
        for call in calls:
            if call in self.bad:
                raise self.bad[call]
        return [2 * call for call in calls]


async def test_what_comes_while_a_group_is_under_way_goes_into_the_next() -> None:
    bench = Bench()
    first = asyncio.create_task(bench.gathering.call(0))
    await asyncio.sleep(0.5)
    others = [asyncio.create_task(bench.gathering.call(number)) for number in range(1, 6)]
    assert await asyncio.gather(first, *others) == [0, 2, 4, 6, 8, 10]
    assert bench.groups == [[0], [1, 2, 3, 4, 5]]


async def test_groups_and_lanes_are_bounded() -> None:
    bench = Bench(most=3, lanes=2)
    assert await asyncio.gather(*(bench.gathering.call(number) for number in range(20))) == list(range(0, 40, 2))
    assert max(map(len, bench.groups)) == 3
    assert bench.peak == 2


async def test_one_call_after_the_other_is_never_left_waiting() -> None:
    bench = Bench()
    for number in range(50):
        assert await bench.gathering.call(number) == 2 * number


@pytest.mark.parametrize("error", [DoesNotFit("too long"), Duplicate("there already")])
async def test_a_call_that_spoils_its_group_costs_only_itself(error: Exception) -> None:
    bench = Bench()
    bench.bad = {3: error, 5: error}
    answers = await asyncio.gather(*(bench.gathering.call(number) for number in range(7)), return_exceptions=True)
    assert answers == [0, 2, 4, error, 8, error, 12]


async def test_when_the_database_is_away_every_caller_is_told_and_the_next_one_is_tried() -> None:
    bench = Bench()
    bench.away = True
    answers = await asyncio.gather(*(bench.gathering.call(number) for number in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Away] * 5
    bench.away = False
    assert await bench.gathering.call(1) == 2


async def test_a_caller_that_is_cancelled_has_its_call_executed_and_disturbs_nobody() -> None:
    bench = Bench()
    calls = [asyncio.create_task(bench.gathering.call(number)) for number in range(4)]
    await asyncio.sleep(0.5)
    calls[1].cancel()
    assert await asyncio.gather(*calls[2:]) == [4, 6]
    assert bench.groups == [[0, 1, 2, 3]]


async def test_to_finish_is_to_wait_for_all_that_was_called() -> None:
    bench = Bench(most=1)
    calls = [asyncio.create_task(bench.gathering.call(number)) for number in range(3)]
    await asyncio.sleep(0)
    await bench.gathering.finish()
    assert all(call.done() for call in calls)
    await bench.gathering.finish()


@pytest.mark.parametrize("seed", range(20))
async def test_every_caller_gets_its_own_answer(seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(most=rng.randint(1, 5), lanes=rng.randint(1, 3))
    bench.bad = {number: DoesNotFit(str(number)) for number in rng.sample(range(60), 6)}

    async def call(number: int) -> None:
        await asyncio.sleep(rng.uniform(0, 10))
        if number in bench.bad:
            with pytest.raises(DoesNotFit, match=f"^{number}$"):
                await bench.gathering.call(number)
        else:
            assert await bench.gathering.call(number) == 2 * number

    await asyncio.gather(*(call(number) for number in range(60)))
    assert not bench.gathering._running
