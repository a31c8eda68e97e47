from __future__ import annotations

from typing import Any

import pytest
from stores.factories import Place, add, lease, leased_ids, new

from gorge_worker.queues.store import MAX_UNSIGNED, BadTask


async def test_a_new_task_has_phorges_defaults(place: Place) -> None:
    async with place.open() as store:
        [task] = await store.enqueue([new("A", '{"a":1}')])
    assert (task.task_class, task.priority, task.failure_count, task.data) == ("A", 2000, 0, "")
    assert (task.lease_owner, task.lease_expires, task.failure_time) == (None, None, None)
    assert (task.object_phid, task.container_phid) == (None, None)
    assert task.date_created == task.date_modified == place.now
    assert task.id > 0
    assert task.data_id > 0


async def test_tasks_are_returned_in_order_with_rising_ids(place: Place) -> None:
    async with place.open() as store:
        first = await store.enqueue(
            [new("A", priority=9), new("B", object_phid="PHID-X"), new("C", container_phid="Y")]
        )
        second = await add(store)
    assert [task.task_class for task in first] == ["A", "B", "C"]
    ids = [task.id for task in first] + second
    assert ids == sorted(set(ids))
    assert (first[0].priority, first[1].object_phid, first[2].container_phid) == (9, "PHID-X", "Y")


async def test_no_tasks_are_no_trouble(place: Place) -> None:
    async with place.open() as store:
        assert await store.enqueue([]) == []


async def test_an_empty_phid_is_none(place: Place) -> None:
    async with place.open() as store:
        [task] = await store.enqueue([new(object_phid="", container_phid="")])
    assert (task.object_phid, task.container_phid) == (None, None)


async def test_a_delayed_task_has_an_owner_that_phorge_honours_too(place: Place) -> None:
    async with place.open() as store:
        [task] = await store.enqueue([new(delay_until=place.now + 60)])
        assert (task.lease_owner, task.lease_expires) == ("(delay)", place.now + 60)
        place.clock.epoch += 60
        assert await lease(store) == []
        place.clock.epoch += 1
        assert await leased_ids(store) == [task.id]


@pytest.mark.parametrize("seconds", [0, -100])
async def test_a_delay_that_is_over_is_none(place: Place, seconds: int) -> None:
    async with place.open() as store:
        [task] = await store.enqueue([new(delay_until=place.now + seconds)])
        assert (task.lease_owner, task.lease_expires) == (None, None)
        assert await leased_ids(store) == [task.id]


BAD: dict[str, dict[str, Any]] = {
    "taskClass is empty": {"task_class": ""},
    "taskClass has 65 bytes": {"task_class": "A" * 65},
    "taskClass has 66 bytes": {"task_class": "峡" * 22},
    "taskClass is not text": {"task_class": "a\0b"},
    "taskClass is not text, or": {"task_class": "\ud800"},
    "objectPHID has 65 bytes": {"object_phid": "P" * 65},
    "containerPHID has 65 bytes": {"container_phid": "P" * 65},
    "priority is -1": {"priority": -1},
    "priority is 4294967296": {"priority": 2**32},
    "priority is a number beyond": {"priority": 10**5000},
    "priority is not a whole number": {"priority": "high"},
    "delayUntil is -1": {"delay_until": -1},
    "delayUntil is 4294967296": {"delay_until": 2**32},
    "data is not text": {"data": '"\udc80"'},
    "data is not text, or": {"data": 5},
}


@pytest.mark.parametrize("message", BAD)
async def test_what_no_column_holds_is_named_and_nothing_is_written(place: Place, message: str) -> None:
    async with place.open() as store:
        with pytest.raises(BadTask, match=message):
            await store.enqueue([new(), new(**BAD[message])])
        assert await store.active_tasks(limit=9, offset=0) == []


async def test_the_widest_values_are_held(place: Place) -> None:
    widest = new("A" * 64, "", priority=MAX_UNSIGNED, object_phid="峡" * 21, container_phid="x" * 64, delay_until=0)
    async with place.open() as store:
        [task] = await store.enqueue([widest])
        [same] = await lease(store)
    assert (same.id, same.task_class, same.priority) == (task.id, "A" * 64, MAX_UNSIGNED)
    assert (same.object_phid, same.container_phid) == ("峡" * 21, "x" * 64)


async def test_ids_are_not_used_again(lasting_place: Place) -> None:
    async with lasting_place.open() as store:
        [first] = await add(store)
        await store.cancel(first)
    async with lasting_place.open() as store:
        [second] = await add(store)
    assert second > first
