"""Renewals: a lease's end moves forward, and only under the lease as it stands."""

from __future__ import annotations

import msgspec
import pytest
from stores.factories import Place, add, lease, leased_ids, report_of

from gorge_worker.model import Lease, Outcome, Task
from gorge_worker.queues.protocol import Receipt
from gorge_worker.queues.store import MAX_UNSIGNED, TaskStore


def lease_of(leased: Task, **fields: object) -> Lease:
    held = Lease(task=leased, owner=leased.lease_owner or "", expires=leased.lease_expires or 0, ends_at=0.0)
    return msgspec.structs.replace(held, **fields)


async def renew(store: TaskStore, leased: Task, duration: int, **fields: object) -> Task | None:
    [renewed] = await store.renew([lease_of(leased, **fields)], duration)
    assert (renewed.task is None) == bool(renewed.reason)
    return renewed.task


async def test_a_renewal_moves_the_end_forward(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store, 1, "me", duration=100)
        place.clock.epoch += 50
        renewed = await renew(store, task, 100)
        assert renewed is not None
        assert (renewed.lease_owner, renewed.lease_expires) == ("me", place.now + 100)
        assert renewed.date_modified == place.now, "from here the worker counts"
        assert (await store.task(task.id)).lease_expires == place.now + 100
        assert renewed.failure_count == 0


async def test_a_renewal_never_moves_the_end_back(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store, 1, "me", duration=1000)
        renewed = await renew(store, task, 10)
        assert renewed is not None
        assert renewed.lease_expires == task.lease_expires


async def test_a_renewed_task_is_not_handed_out_before_its_new_end(place: Place) -> None:
    async with place.open() as store:
        [task_id] = await add(store)
        [task] = await lease(store, 1, "me", duration=100)
        await renew(store, task, 500)
        place.clock.epoch += 500
        assert await leased_ids(store) == []
        place.clock.epoch += 1
        assert await leased_ids(store) == [task_id]


async def test_after_a_renewal_only_the_new_lease_counts(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store, 1, "me", duration=100)
        renewed = await renew(store, task, 500)
        assert renewed is not None
        assert await renew(store, task, 500) is None
        [stale] = await store.report([report_of(task, Outcome.success())])
        [good] = await store.report([report_of(renewed, Outcome.success())])
        assert (stale.receipt, good.receipt) == (Receipt.LEASE_LOST, Receipt.ACCEPTED)


async def test_a_lease_can_be_renewed_in_its_last_second_and_not_in_the_next(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store, 1, "me", duration=10)
        place.clock.epoch += 10
        renewed = await renew(store, task, 10)
        assert renewed is not None
        place.clock.epoch += 11
        assert await renew(store, renewed, 10) is None, "although nobody has taken the task since"


@pytest.mark.parametrize("fields", [{"owner": "another"}, {"expires": 1}, {"task": Task(id=424_242, task_class="X")}])
async def test_under_another_lease_nothing_is_renewed(place: Place, fields: dict[str, object]) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store, 1, "me", duration=100)
        assert await renew(store, task, 1000, **fields) is None
        assert (await store.task(task.id)).lease_expires == task.lease_expires


async def test_what_was_cancelled_or_given_back_is_no_longer_leased(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        await add(store)
        cancelled, released = await lease(store, 2, "me", duration=100)
        await store.cancel(cancelled.id)
        await store.release([released])
        renewed = await store.renew([lease_of(cancelled), lease_of(released)], 100)
        assert [one.task for one in renewed] == [None, None]


async def test_each_lease_of_a_batch_has_its_own_fate(place: Place) -> None:
    async with place.open() as store:
        for _ in range(5):
            await add(store)
        tasks = await lease(store, 5, "me", duration=100)
        await store.complete(tasks[3].id, 1)
        renewed = await store.renew([lease_of(task) for task in tasks], 300)
        assert [one.task is not None for one in renewed] == [True, True, True, False, True]
        assert {one.task.lease_expires for one in renewed if one.task} == {place.now + 300}


async def test_no_leases_are_no_trouble(place: Place) -> None:
    async with place.open() as store:
        assert await store.renew([], 100) == []


async def test_a_lease_that_ends_where_its_column_ends_stays_there(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store, 1, "me", duration=MAX_UNSIGNED)
        renewed = await renew(store, task, 604_800)
        assert renewed is not None
        assert renewed.lease_expires == MAX_UNSIGNED
