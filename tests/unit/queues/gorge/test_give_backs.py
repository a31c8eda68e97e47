from __future__ import annotations

import pytest
from support.fenced import CONFLICT, GO, GONE, OURS, THREE, fenced_lease, row
from support.scripted_http import OK, Call, ScriptedHttp, error
from support.virtual_time import VirtualClock

from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import HttpAnswer
from gorge_worker.queues.gorge.give_backs import AT_ONCE, GiveBacks
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.gorge.wire import Wire

pytestmark = pytest.mark.virtual_time


class Bench:
    def __init__(self) -> None:
        self.http = ScriptedHttp()
        self.clock = VirtualClock()
        self.finished: list[int] = []
        self.give_backs = GiveBacks(Wire(self.http), self.clock, self.finished.append)

    def add(self, task_id: int, wait: float = 0.0, left: float = 1000.0, generation: Generation | None = None) -> None:
        now = self.clock.boottime()
        fence = fenced_lease(generation, task_id).fence if generation else None
        self.give_backs.add(task_id, due=now + wait, ends_at=now + left, fence=fence)


async def test_without_a_lease_to_name_a_task_is_yielded() -> None:
    bench = Bench()
    bench.http.always["yield"] = OK
    bench.add(1)
    bench.add(2, wait=59.5)
    await bench.give_backs.send()
    assert bench.http.bodies("yield") == [{"taskID": 1, "duration": 5}, {"taskID": 2, "duration": 60}]
    assert bench.finished == [1, 2]
    assert not bench.give_backs


@pytest.mark.parametrize(
    ("generation", "wait", "said"),
    [
        (OURS, 0.0, {"outcome": "release"}),
        (OURS, 60.0, {"outcome": "yield", "duration": 60}),
        (GO, 0.0, {"outcome": "yield", "duration": 5}),
    ],
)
async def test_under_a_lease_its_generation_s_words_are_used(
    generation: Generation, wait: float, said: dict[str, object]
) -> None:
    bench = Bench()
    bench.http.always["resolve"] = OK
    bench.add(7, wait, generation=generation)
    await bench.give_backs.send()
    assert bench.http.bodies("resolve") == [THREE | said]


async def test_after_the_end_of_its_lease_a_task_is_left_alone() -> None:
    bench = Bench()
    bench.add(1, left=0.0)
    await bench.give_backs.send()
    assert bench.http.calls == []
    assert bench.finished == [1]


@pytest.mark.parametrize("final", [CONFLICT, GONE, error(400)])
async def test_a_task_that_the_queue_will_not_take_back_is_forgotten(final: HttpAnswer) -> None:
    bench = Bench()
    bench.http.always["resolve"] = final
    bench.add(7, generation=OURS)
    await bench.give_backs.send()
    assert not bench.give_backs


async def test_a_queue_that_knows_no_resolve_any_more_is_asked_again() -> None:
    bench = Bench()
    bench.http.always |= {"resolve": GONE, "tasks/7": row()}
    bench.add(7, generation=GO)
    with pytest.raises(QueueTrouble):
        await bench.give_backs.send()
    bench.http.always["resolve"] = OK
    await bench.give_backs.send()
    assert bench.finished == [7]


async def test_tasks_that_the_queue_does_not_take_stand_in_nobody_s_way() -> None:
    bench = Bench()

    async def takes_some(call: Call) -> HttpAnswer:
        return error(503, Retry_After="9") if call.body["taskID"] <= AT_ONCE + 1 else OK

    bench.http.always["yield"] = takes_some
    for number in range(1, 3 * AT_ONCE):
        bench.add(number)
    for _ in range(3):
        with pytest.raises(QueueTrouble, match="503") as raised:
            await bench.give_backs.send()
        assert raised.value.retry_after == 9
    assert sorted(bench.finished) == list(range(AT_ONCE + 2, 3 * AT_ONCE))
    assert len(bench.give_backs) == AT_ONCE + 1


async def test_while_the_queue_takes_nothing_no_more_than_one_batch_is_tried() -> None:
    bench = Bench()
    bench.http.always["yield"] = error(503)
    for number in range(1, 100):
        bench.add(number)
    with pytest.raises(QueueTrouble):
        await bench.give_backs.send()
    assert len(bench.http.calls) == AT_ONCE
