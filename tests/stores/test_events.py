"""A task for an event is added once, however often the event is told."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from stores.factories import Place, lease, new

from gorge_worker.queues.store import MAX_EVENT_BYTES, BadTask, EventConflict


async def test_the_same_event_gives_the_first_task_back(place: Place) -> None:
    task = new("A", "1", priority=1000, object_phid="PHID-X", delay_until=place.now + 60)
    async with place.open() as store:
        first = await store.enqueue_event("event-1", task)
        assert (first.task_class, first.priority, first.object_phid) == ("A", 1000, "PHID-X")
        place.clock.epoch += 10
        assert await store.enqueue_event("event-1", task) == first
        assert len(await store.active_tasks(limit=9, offset=0)) == 1
        assert (await store.task(first.id)).data == "1"


async def test_other_events_and_plain_tasks_are_other_tasks(place: Place) -> None:
    async with place.open() as store:
        ids = {(await store.enqueue_event(name, new())).id for name in ("a", "A", "a ", "b")}
        ids.add((await store.enqueue([new()]))[0].id)
        assert len(ids) == 5


async def test_the_same_event_with_another_task_is_a_conflict_and_adds_nothing(place: Place) -> None:
    task = new("A", "1", priority=1000)
    others = [
        new("B", "1", priority=1000),
        new("A", "2", priority=1000),
        new("A", "1"),
        msgspec.structs.replace(task, object_phid="PHID-X"),
        msgspec.structs.replace(task, container_phid="PHID-X"),
        msgspec.structs.replace(task, delay_until=place.now + 60),
    ]
    async with place.open() as store:
        await store.enqueue_event("event", task)
        for other in others:
            with pytest.raises(EventConflict):
                await store.enqueue_event("event", other)
        assert len(await store.active_tasks(limit=9, offset=0)) == 1


async def test_an_event_is_known_after_its_task_is_done_and_after_a_restart(lasting_place: Place) -> None:
    async with lasting_place.open() as store:
        first = await store.enqueue_event("event", new())
        await lease(store)
        await store.complete(first.id, 1)
    async with lasting_place.open() as store:
        assert await store.enqueue_event("event", new()) == first
        assert (await store.stats()).active == 0


async def test_an_event_that_is_told_many_times_at_once_adds_one_task(place: Place) -> None:
    async with place.open() as store:
        tasks = await asyncio.gather(*(store.enqueue_event("event", new()) for _ in range(12)))
        assert len({task.id for task in tasks}) == 1
        assert (await store.stats()).active == 1


@pytest.mark.parametrize("event_id", ["", "e" * (MAX_EVENT_BYTES + 1), "a\0b", "\udc80"])
async def test_an_id_that_no_column_holds_is_refused(place: Place, event_id: str) -> None:
    async with place.open() as store:
        with pytest.raises(BadTask):
            await store.enqueue_event(event_id, new())
        assert (await store.stats()).active == 0


async def test_a_task_that_no_column_holds_leaves_the_event_unknown(place: Place) -> None:
    async with place.open() as store:
        with pytest.raises(BadTask):
            await store.enqueue_event("event", new("A" * 65))
        assert (await store.enqueue_event("event", new("A"))).task_class == "A"
