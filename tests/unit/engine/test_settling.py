from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from gorge_worker.engine.held import Held
from gorge_worker.engine.settling import Settling
from gorge_worker.model import Lease, Task

pytestmark = pytest.mark.virtual_time


class Bench:
    """Settling that takes 5 s; `batches` were asked for, `done` came back."""

    def __init__(self) -> None:
        self.batches: list[list[Held]] = []
        self.done: list[Held] = []
        self.settling = Settling(self.settle, self.done.extend)

    async def settle(self, batch: Sequence[Held]) -> None:
        self.batches.append(list(batch))
        await asyncio.sleep(5)


def held(task_id: int) -> Held:
    return Held(Lease(task=Task(id=task_id, task_class="A"), owner="me", expires=1, ends_at=1.0), 0.0)


async def test_what_comes_together_is_settled_in_one_call_and_what_comes_later_in_the_next() -> None:
    bench = Bench()
    one, two, three, four = (held(number) for number in range(4))
    bench.settling.add(one)
    bench.settling.add(two)
    await asyncio.sleep(1)
    bench.settling.add(three)
    bench.settling.add(four)
    await asyncio.sleep(5)
    assert bench.done == [one, two]
    await asyncio.sleep(5)
    assert bench.done == [one, two, three, four]
    assert bench.batches == [[one, two], [three, four]]


async def test_what_comes_back_unsettled_can_be_added_again_at_once() -> None:
    bench = Bench()
    one, tries = held(1), 0

    def again(batch: Sequence[Held]) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            bench.settling.add(batch[0])

    bench.settling = Settling(bench.settle, again)
    bench.settling.add(one)
    await asyncio.sleep(16)
    assert bench.batches == [[one]] * 3


async def test_a_fault_is_logged_and_does_not_stop_the_next() -> None:
    bench = Bench()
    one, two = held(1), held(2)

    async def fail_once(batch: Sequence[Held]) -> None:
        await bench.settle(batch)
        if batch[0] is one:
            raise RuntimeError

    bench.settling = Settling(fail_once, bench.done.extend)
    bench.settling.add(one)
    await asyncio.sleep(1)
    bench.settling.add(two)
    with capture_logs() as logs:
        await asyncio.sleep(10)
    assert [line["event"] for line in logs] == ["the engine failed"]
    assert bench.done == [two]


async def test_it_can_be_stopped_at_any_moment() -> None:
    bench = Bench()
    await bench.settling.stop()
    bench.settling.add(held(1))
    await asyncio.sleep(1)
    bench.settling.add(held(2))
    await bench.settling.stop()
    await asyncio.sleep(20)
    assert bench.done == []
    assert len(bench.batches) == 1
