"""What a lease call may carry."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores.factories import STORES, Place, add, leased_ids, new

from gorge_worker.queues import turns
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.sqlite import leasing


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(leasing, "LEASE_CHARACTERS", 10)
    return Place(STORES["sqlite"], tmp_path)


async def test_a_lease_ends_before_its_data_become_too_much(place: Place) -> None:
    async with place.open() as store:
        first, second, third, fourth = await add(store, *[new(data="x" * size) for size in (4, 6, 1, 1)])
        assert await leased_ids(store, 9) == [first, second]
        assert await leased_ids(store, 9) == [third, fourth]


async def test_a_task_of_any_size_is_leased_alone(place: Place) -> None:
    async with place.open() as store:
        huge, small = await add(store, new(data="x" * 1000), new(data="x"))
        assert await leased_ids(store, 9) == [huge]
        assert await leased_ids(store, 9) == [small]


async def test_huge_new_tasks_do_not_starve_due_ones_nor_the_other_way_round(place: Place) -> None:
    async with place.open() as store:
        due = await add(store, *[new(data="x" * 10) for _ in range(2)])
        for task_id in due:
            await store.yield_task(task_id, 5)
        place.clock.epoch += 10
        fresh = await add(store, *[new(data="x" * 10) for _ in range(6)])
        got = [await leased_ids(store, 4) for _ in range(8)]
        assert got == [[task_id] for task_id in (*fresh[:3], due[0], *fresh[3:], due[1])]


def test_turns_are_remembered_for_a_bounded_number_of_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_FILTERS", 3)
    counted = turns.Turns()
    for number in range(100):
        counted.due_first(ClassFilter((f"Class{number}",)))
        assert len(counted._calls) <= 3
    assert [counted.due_first(ClassFilter(())) for _ in range(8)].count(True) == 2
