from __future__ import annotations

import asyncio

import pytest
from stores.factories import Place, add, add_many, lease, leased_ids, new

from gorge_worker.queues.protocol import ANY, ClassFilter
from gorge_worker.queues.store import MAX_UNSIGNED, BadTask, StoreLease, TaskStore


async def retried(store: TaskStore, place: Place, count: int) -> list[int]:
    """Tasks that are due: they have failed, and their wait is over."""
    ids = await add_many(store, count)
    for task_id in ids:
        await store.fail(task_id, permanent=False, retry_wait=1)
        place.clock.epoch += 1
    place.clock.epoch += 10
    return ids


async def test_a_lease_gives_the_whole_task(place: Place) -> None:
    async with place.open() as store:
        [added] = await store.enqueue([new("A", '{"a":1}', priority=7, object_phid="PHID-X")])
        place.clock.epoch += 5
        [task] = await lease(store, 4, "me")
        assert (task.id, task.task_class, task.data, task.priority) == (added.id, "A", '{"a":1}', 7)
        assert (task.lease_owner, task.lease_expires) == ("me", place.now + 7200)
        assert (task.object_phid, task.date_created, task.date_modified) == ("PHID-X", place.now - 5, place.now)
        assert await store.task(task.id) == task


async def test_lower_priorities_go_first_then_lower_ids(place: Place) -> None:
    priorities = [4000, 2000, 3500, 1000, 2000, 1000]
    async with place.open() as store:
        ids = await add(store, *[new(priority=priority) for priority in priorities])
        expected = [task_id for _, task_id in sorted(zip(priorities, ids, strict=True))]
        assert await leased_ids(store, 2) + await leased_ids(store, 9) == expected


async def test_nothing_is_leased_twice(place: Place) -> None:
    async with place.open() as store:
        await add(store, new(), new(), new())
        assert [len(await lease(store, 2)) for _ in range(3)] == [2, 1, 0]


async def test_a_lease_that_has_run_out_is_leased_again_after_its_last_second(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        await lease(store, 1, "dead", duration=10)
        place.clock.epoch += 10
        assert await lease(store) == []
        place.clock.epoch += 1
        [task] = await lease(store, 1, "next")
        assert (task.id, task.lease_owner, task.failure_count) == (task_id, "next", 0)


async def test_only_the_named_classes_are_leased(place: Place) -> None:
    async with place.open() as store:
        a, b, _, again = await add(store, new("A"), new("B"), new("C"), new("A", priority=1))
        assert await leased_ids(store, 9, "me", "B", "A", "B", "Unknown") == [again, a, b]
        assert await leased_ids(store, 9, "me", "Unknown", "\ud800", "") == []
        assert len(await leased_ids(store, 9)) == 1


async def test_classes_can_be_left_out(place: Place) -> None:
    async with place.open() as store:
        _, b, c = await add(store, new("A"), new("B"), new("C"))
        assert await next_ids(store, ClassFilter(without=("A", "A", "Unknown", ""))) == [b, c]
        assert await next_ids(store, ClassFilter(without=("A",))) == []
        assert await next_ids(store, ClassFilter(only=("A", "B"), without=("A",))) == []
        assert await store.next_due(ClassFilter(without=("A", "B", "C"))) is None
        assert await store.next_due(ClassFilter(without=("B",))) == place.now


async def test_due_tasks_can_be_left_out_by_class_too(place: Place) -> None:
    async with place.open() as store:
        a, b = await add(store, new("A"), new("B"))
        for task_id in (a, b):
            await store.fail(task_id, permanent=False, retry_wait=10)
        assert await store.next_due(ClassFilter(without=("A",))) == place.now + 11
        place.clock.epoch += 30
        assert await next_ids(store, ClassFilter(without=("A",))) == [b]


async def next_ids(store: TaskStore, classes: ClassFilter) -> list[int]:
    wanted = StoreLease(owner="me", limit=9, duration=7200, classes=classes)
    return [task.id for task in await store.lease(wanted)]


async def test_due_tasks_are_filtered_by_class_too(place: Place) -> None:
    async with place.open() as store:
        a, b = await add(store, new("A"), new("B"))
        await store.fail(a, permanent=False, retry_wait=20)
        await store.fail(b, permanent=False, retry_wait=10)
        place.clock.epoch += 30
        assert await leased_ids(store, 9, "me", "A") == [a]
        assert await leased_ids(store, 9, "me", "A", "B") == [b]


@pytest.mark.parametrize(("limit", "places"), [(2, 1), (4, 1), (5, 2), (8, 2), (100, 25)])
async def test_due_tasks_get_a_quarter_of_the_places(place: Place, limit: int, places: int) -> None:
    async with place.open() as store:
        due = await retried(store, place, limit)
        fresh = await add_many(store, limit)
        assert await leased_ids(store, limit) == fresh[: limit - places] + due[:places]


async def test_one_call_in_four_is_for_due_tasks_when_the_limit_is_one(place: Place) -> None:
    async with place.open() as store:
        due = await retried(store, place, 4)
        fresh = await add_many(store, 12)
        order = [(await leased_ids(store))[0] for _ in range(16)]
        assert [task_id for task_id in order if task_id in due] == due
        assert [task_id for task_id in order if task_id in fresh] == fresh
        for start in range(0, 16, 4):
            assert len(set(order[start : start + 4]) & set(due)) == 1


async def test_two_class_filters_in_turn_do_not_starve_each_others_due_tasks(place: Place) -> None:
    async with place.open() as store:
        a, b = await add(store, new("A"), new("B"))
        for task_id in (a, b):
            await store.fail(task_id, permanent=False, retry_wait=1)
        place.clock.epoch += 10
        await add(store, *[new(name) for name in "AB" * 9])
        got = [(await leased_ids(store, 1, "me", name))[0] for name in "AB" * 4]
        assert {a, b} <= set(got)


@pytest.mark.parametrize(("due_count", "new_count"), [(6, 0), (0, 6), (1, 5), (5, 1)])
async def test_places_that_one_kind_leaves_go_to_the_other(place: Place, due_count: int, new_count: int) -> None:
    async with place.open() as store:
        due = await retried(store, place, due_count)
        fresh = await add_many(store, new_count)
        assert await leased_ids(store, 6) == fresh + due


async def test_due_tasks_go_by_the_time_since_which_they_are_due(place: Place) -> None:
    async with place.open() as store:
        first, second, third = await add(store, new(priority=1), new(priority=2), new(priority=3))
        await store.fail(first, permanent=False, retry_wait=30)
        await store.yield_task(second, 20)
        await store.fail(third, permanent=False, retry_wait=10)
        place.clock.epoch += 60
        assert await leased_ids(store, 3) == [third, second, first]


@pytest.mark.parametrize("owner", ["", "o" * 65, "a\0b", "\udcff"])
async def test_an_owner_that_no_column_holds_is_refused(place: Place, owner: str) -> None:
    async with place.open() as store:
        await add(store)
        with pytest.raises(BadTask, match="leaseOwner"):
            await lease(store, 1, owner)
        assert len(await lease(store)) == 1


async def test_a_lease_that_would_end_after_the_columns_end_ends_there(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await store.lease(StoreLease(owner="me", limit=2**70, duration=2**70))
        assert task.lease_expires == MAX_UNSIGNED


@pytest.mark.parametrize("limit", [1, 3])
async def test_many_leases_at_once_never_overlap(place: Place, limit: int) -> None:
    async with place.open() as store:
        ids = await add_many(store, 60)

        async def drain(owner: str) -> list[int]:
            got: list[int] = []
            while more := await leased_ids(store, limit, owner):
                got += more
            return got

        got = await asyncio.gather(*[drain(f"owner-{number}") for number in range(8)])
        assert sorted(task_id for some in got for task_id in some) == ids


async def test_next_due_is_now_when_there_is_new_work(place: Place) -> None:
    async with place.open() as store:
        assert await store.next_due(ANY) is None
        await add(store, new("A"))
        assert await store.next_due(ANY) == place.now
        assert await store.next_due(ClassFilter(("B", "A"))) == place.now
        assert await store.next_due(ClassFilter(("B", "\ud800"))) is None
        assert await store.next_due(ClassFilter(("\ud800",))) is None


async def test_next_due_is_the_second_in_which_the_first_wait_is_over(place: Place) -> None:
    async with place.open() as store:
        a, b, c = await add(store, new("A"), new("B"), new("C"))
        await store.fail(a, permanent=False, retry_wait=50)
        await store.yield_task(b, 40)
        await lease(store, 1, "me", "C", duration=60)
        due = await store.next_due(ANY)
        assert due == place.now + 41
        assert await store.next_due(ClassFilter(("A", "C"))) == place.now + 51
        place.clock.epoch = due - 1
        assert await lease(store) == []
        place.clock.epoch = due
        assert await leased_ids(store) == [b]
        place.clock.epoch += 100
        assert await store.next_due(ClassFilter(("A", "C"))) == place.now, "what has long been due can be leased now"
        assert await leased_ids(store, 9) == [a, c]
