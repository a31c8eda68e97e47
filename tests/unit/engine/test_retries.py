from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest

from gorge_worker.engine.held import Held
from gorge_worker.engine.retries import FIRST_PAUSE, JITTER, LONGEST_PAUSE, Retries
from gorge_worker.model import Lease, Task

pytestmark = pytest.mark.virtual_time


def held(task_id: int = 1) -> Held:
    return Held(Lease(task=Task(id=task_id, task_class="A"), owner="me", expires=1, ends_at=1.0), 0.0)


async def test_pauses_grow_from_the_first_to_the_longest_and_are_each_outcomes_own() -> None:
    loop, pauses = asyncio.get_running_loop(), list[float]()
    arrived = asyncio.Event()
    retries = Retries(random.Random(1), lambda _held: arrived.set())
    one = held()
    for _ in range(30):
        began = loop.time()
        arrived.clear()
        retries.later(one)
        await arrived.wait()
        pauses.append(loop.time() - began)
    assert FIRST_PAUSE * (1 - JITTER) <= pauses[0] <= FIRST_PAUSE
    assert LONGEST_PAUSE * (1 - JITTER) <= pauses[-1] <= LONGEST_PAUSE
    assert all(later > earlier for earlier, later in pairwise(pauses[:9]))
    other, began = held(2), loop.time()
    arrived.clear()
    retries.later(other)
    await arrived.wait()
    assert loop.time() - began <= FIRST_PAUSE


async def test_a_pause_is_at_least_as_long_as_the_queue_asks_for() -> None:
    again: list[Held] = []
    retries = Retries(random.Random(1), again.append)
    one = held()
    retries.later(one, 60.0)
    await asyncio.sleep(59.9)
    assert again == []
    await asyncio.sleep(0.2)
    assert again == [one]


async def test_what_waits_can_be_taken_and_does_not_come_again() -> None:
    again: list[Held] = []
    retries = Retries(random.Random(1), again.append)
    one, two = held(1), held(2)
    retries.later(one)
    retries.later(two)
    assert retries.take_all() == [one, two]
    assert retries.take_all() == []
    await asyncio.sleep(100)
    assert again == []
