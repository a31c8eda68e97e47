from __future__ import annotations

import pytest
from stores.factories import Place, add, add_many, lease, new

from gorge_worker.queues.store import StoreStats


async def test_active_tasks_are_listed_by_priority_and_id_without_data(place: Place) -> None:
    priorities = [3000, 1000, 2000, 1000]
    async with place.open() as store:
        ids = await add(store, *[new(priority=priority, data='"x"') for priority in priorities])
        listed = await store.active_tasks(limit=9, offset=0)
        expected = sorted(zip(priorities, ids, strict=True))
        assert [(task.priority, task.id) for task in listed] == expected
        assert {task.data for task in listed} == {""}
        assert await store.active_tasks(limit=2, offset=1) == listed[1:3]
        assert await store.active_tasks(limit=0, offset=0) == []


async def test_one_owners_tasks_are_listed_alone(place: Place) -> None:
    async with place.open() as store:
        await add(store, new(priority=2), new(priority=1), new())
        mine = [task.id for task in await lease(store, 2, "me")]
        await lease(store, 1, "you")
        assert [task.id for task in await store.active_tasks(limit=9, offset=0, owner="me")] == mine
        assert [task.id for task in await store.active_tasks(limit=9, offset=1, owner="me")] == mine[1:]
        assert await store.active_tasks(limit=9, offset=0, owner="nobody") == []


@pytest.mark.parametrize(("limit", "offset"), [(2**70, 0), (9, 2**70), (-1, 0), (-(2**70), -(2**70))])
async def test_no_limit_is_out_of_range(place: Place, limit: int, offset: int) -> None:
    async with place.open() as store:
        await add(store)
        expected = 1 if limit > 0 and offset <= 0 else 0
        assert len(await store.active_tasks(limit=limit, offset=offset)) == expected


async def test_stats_count(place: Place) -> None:
    async with place.open() as store:
        assert await store.stats() == StoreStats(active=0, leased=0, archived=0, failed=0)
        first, second, *_ = await add_many(store, 6)
        await lease(store, 3, duration=10)
        await store.complete(first, 1)
        await store.fail(second, permanent=False, retry_wait=5)
        assert await store.stats() == StoreStats(active=5, leased=2, archived=1, failed=1)
        place.clock.epoch += 11
        assert await store.stats() == StoreStats(active=5, leased=0, archived=1, failed=1)


async def test_what_has_been_acknowledged_is_visible_at_once(place: Place) -> None:
    async with place.open() as store:
        for number in range(20):
            [task_id] = await add(store)
            assert (await store.task(task_id)).id == task_id
            assert (await store.stats()).active == number + 1


async def test_everything_is_there_after_a_restart(lasting_place: Place) -> None:
    async with lasting_place.open() as store:
        leased, failed, yielded, done, _ = await add(store, *[new(data=f'"{n}"') for n in range(5)])
        await lease(store)
        await store.fail(failed, permanent=False)
        await store.yield_task(yielded, 60)
        await store.complete(done, 1)
        before = [await store.task(task_id) for task_id in (leased, failed, yielded)]
        stats = await store.stats()
    async with lasting_place.open() as store:
        assert [await store.task(task.id) for task in before] == before
        assert await store.stats() == stats
