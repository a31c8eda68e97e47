"""Outcomes that carry no lease: they hit whoever holds the task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from stores.factories import Place, add, add_many, lease, leased_ids, new

from gorge_worker.model import ArchiveResult
from gorge_worker.queues.store import MAX_UNSIGNED, NoSuchTask, TaskStore

HOUR = 3600


async def test_complete_archives_as_a_success(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store, new("A", '"data"', priority=7))
        [task] = await lease(store)
        place.clock.epoch += 9
        done = await store.complete(task_id, 1_234_567)
        assert (done.result, done.duration, done.archived_epoch) == (ArchiveResult.SUCCESS, 1_234_567, place.now)
        assert (done.task.id, done.task.task_class, done.task.data) == (task_id, "A", "")
        assert (done.task.lease_owner, done.task.lease_expires) == (task.lease_owner, task.lease_expires)
        assert (done.task.date_modified, done.task.date_created) == (place.now, place.now - 9)
        with pytest.raises(NoSuchTask):
            await store.task(task_id)


async def test_cancel_archives_whatever_the_state(place: Place) -> None:
    async with place.open() as store:
        leased, waiting = await add(store, new(), new())
        await lease(store)
        for task_id in (leased, waiting):
            done = await store.cancel(task_id)
            assert (done.task.id, done.result, done.duration) == (task_id, ArchiveResult.CANCELLED, 0)
        assert await lease(store, 9) == []
        assert (await store.stats()).archived == 2


async def test_a_permanent_failure_is_archived(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        await store.fail(task_id, permanent=True)
        stats = await store.stats()
        assert (stats.active, stats.archived, stats.failed) == (0, 1, 0)


@pytest.mark.parametrize(("wait", "seconds"), [(7, 7), (None, 300), (0, 0)])
async def test_a_temporary_failure_is_counted_and_waits(place: Place, wait: int | None, seconds: int) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        await lease(store)
        place.clock.epoch += 20
        await store.fail(task_id, permanent=False, retry_wait=wait)
        task = await store.task(task_id)
        assert (task.lease_owner, task.lease_expires) == ("(retry)", place.now + seconds)
        assert (task.failure_count, task.failure_time, task.date_modified) == (1, place.now, place.now)
        place.clock.epoch += seconds
        assert await lease(store) == []
        place.clock.epoch += 1
        [again] = await lease(store)
        assert (again.id, again.failure_count) == (task_id, 1)
        await store.fail(task_id, permanent=False, retry_wait=wait)
        assert (await store.task(task_id)).failure_count == 2


@pytest.mark.parametrize(("seconds", "waits"), [(-3, 5), (0, 5), (5, 5), (6, 6), (600, 600)])
async def test_a_yield_lasts_five_seconds_at_least_and_counts_nothing(place: Place, seconds: int, waits: int) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        await lease(store)
        await store.yield_task(task_id, seconds)
        task = await store.task(task_id)
        assert (task.lease_owner, task.lease_expires) == ("(yield)", place.now + waits)
        assert (task.failure_count, task.failure_time) == (0, None)
        place.clock.epoch += waits
        assert await lease(store) == []
        place.clock.epoch += 1
        assert await leased_ids(store) == [task_id]


async def test_waits_end_where_the_column_ends(place: Place) -> None:
    async with place.open() as store:
        failed, yielded, done = await add(store, new(), new(), new())
        await store.fail(failed, permanent=False, retry_wait=2**70)
        await store.yield_task(yielded, 2**70)
        assert (await store.task(failed)).lease_expires == MAX_UNSIGNED
        assert (await store.task(yielded)).lease_expires == MAX_UNSIGNED
        assert (await store.complete(done, 2**62)).duration == 2**62


async def test_awaken_wakes_what_has_yielded_and_never_failed_once(place: Place) -> None:
    async with place.open() as store:
        yielded, failed, both, leased, fresh = await add_many(store, 5)
        await store.yield_task(yielded, HOUR)
        await store.fail(failed, permanent=False, retry_wait=HOUR)
        await store.fail(both, permanent=False, retry_wait=HOUR)
        await store.yield_task(both, HOUR)
        await store.fail(fresh, permanent=True)
        assert await leased_ids(store) == [leased]
        everything = [yielded, failed, both, leased, fresh, yielded, 999_999, 2**70, -(2**70), 0]
        assert await store.awaken(everything) == 1
        assert await store.awaken(everything) == 0
        assert (await store.task(yielded)).lease_expires == place.now - HOUR
        assert await leased_ids(store, 9) == [yielded]


async def test_release_takes_back_only_the_lease_that_is_named(place: Place) -> None:
    async with place.open() as store:
        await add(store, new(), new())
        kept, lost = await lease(store, 2, "late", duration=1)
        place.clock.epoch += 2
        await store.yield_task(lost.id, 50)
        await store.release([kept, lost])
        task = await store.task(kept.id)
        assert (task.lease_owner, task.lease_expires, task.failure_count) == (None, None, 0)
        assert (await store.task(lost.id)).lease_owner == "(yield)"
        assert await leased_ids(store, 9) == [kept.id]


UNKNOWN: dict[str, Callable[[TaskStore, int], Awaitable[object]]] = {
    "complete": lambda store, task_id: store.complete(task_id, 1),
    "cancel": lambda store, task_id: store.cancel(task_id),
    "fail": lambda store, task_id: store.fail(task_id, permanent=False),
    "fail for good": lambda store, task_id: store.fail(task_id, permanent=True),
    "yield": lambda store, task_id: store.yield_task(task_id, 5),
    "task": lambda store, task_id: store.task(task_id),
}


@pytest.mark.parametrize("name", UNKNOWN)
async def test_an_unknown_id_is_named(place: Place, name: str) -> None:
    async with place.open() as store:
        [archived] = await add(store)
        await store.cancel(archived)
        for task_id in (archived, 424_242, 0, -1, 2**63, 2**70):
            with pytest.raises(NoSuchTask) as caught:
                await UNKNOWN[name](store, task_id)
            assert caught.value.task_id == task_id
        assert (await store.stats()).archived == 1
