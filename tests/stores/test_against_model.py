"""Any sequence of calls does to a real store what it does to the simplest one."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from stores.factories import LASTING, STORES, new, params, report_of
from stores.memory import MemoryStore
from support.leases import FixedClock

from gorge_worker.model import NewTask, Outcome, Task
from gorge_worker.queues.protocol import ANY, ClassFilter
from gorge_worker.queues.store import EventConflict, NoSuchTask, StoreLease, TaskStore

T = TypeVar("T")

CLASSES = ("A", "B", "C")
IDS = st.integers(1, 12)
WAITS = st.sampled_from([None, 0, 1, 5, 60, 4000])
NAMES = st.lists(st.sampled_from(CLASSES), unique=True, max_size=2).map(tuple)
FILTERS = st.one_of(st.builds(ClassFilter, NAMES), st.builds(ClassFilter, st.just(()), NAMES))
NEW_TASKS = st.builds(
    new,
    st.sampled_from(CLASSES),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    priority=st.sampled_from([None, 1000, 2000, 2001]),
)
FOLLOWUPS = st.lists(NEW_TASKS, max_size=2).map(tuple)
OUTCOMES = st.one_of(
    st.builds(Outcome.success, FOLLOWUPS),
    st.just(Outcome.permanent_failure("no")),
    st.builds(Outcome.temporary_failure, st.just("later"), WAITS),
    st.builds(Outcome.yielded, st.sampled_from([0, 5, 60])),
    st.builds(Outcome.released, st.just("not ours"), WAITS),
)


class StoreMachine(RuleBasedStateMachine):
    """Makes every call on both stores. `held` are leases as they were given, good ones and old ones."""

    factory_name = ""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FixedClock()
        self.model = MemoryStore(self.clock)
        self.store = self.runner.run(self.opened())
        self.held: list[Task] = []

    async def opened(self) -> TaskStore:
        return await STORES[self.factory_name](Path(self.folder.name), self.clock)

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()

    def both(self, call: Callable[[TaskStore], Awaitable[T]]) -> T:
        """Makes the call on both, and returns the one answer."""

        async def answer(store: TaskStore) -> T | str:
            try:
                return await call(store)
            except (NoSuchTask, EventConflict) as error:
                return type(error).__name__

        expected, got = self.runner.run(answer(self.model)), self.runner.run(answer(self.store))
        assert got == expected
        return got  # type: ignore[return-value]

    @rule(tasks=st.lists(NEW_TASKS, min_size=1, max_size=3), delay=st.sampled_from([None, -5, 0, 1, 100]))
    def enqueue(self, tasks: list[NewTask], delay: int | None) -> None:
        until = None if delay is None else int(self.clock.epoch) + delay
        delayed = [new(task.task_class, task.data, priority=task.priority, delay_until=until) for task in tasks]
        self.both(lambda store: store.enqueue(delayed))

    @rule(event=st.sampled_from("xyz"), task=NEW_TASKS)
    def enqueue_event(self, event: str, task: NewTask) -> None:
        self.both(lambda store: store.enqueue_event(event, task))

    @rule(data=st.data(), duration=st.sampled_from([1, 60, 7200]))
    def renew(self, data: st.DataObject, duration: int) -> None:
        if not self.held:
            return
        task = data.draw(st.sampled_from(self.held))

        async def renewed(store: TaskStore) -> Task | None:
            return (await store.renew([report_of(task, Outcome.success()).lease], duration))[0].task

        if now := self.both(renewed):
            self.held.append(now)

    @rule(limit=st.integers(1, 5), classes=FILTERS, duration=st.sampled_from([1, 60, 7200]))
    def lease(self, limit: int, classes: ClassFilter, duration: int) -> None:
        wanted = StoreLease(owner=f"owner-{len(self.held)}", limit=limit, duration=duration, classes=classes)
        self.held += self.both(lambda store: store.lease(wanted))

    @rule(data=st.data(), outcome=OUTCOMES)
    def report(self, data: st.DataObject, outcome: Outcome) -> None:
        if not self.held:
            return
        report = report_of(data.draw(st.sampled_from(self.held)), outcome)

        async def receipts(store: TaskStore) -> list[object]:
            return [result.receipt for result in await store.report([report])]

        self.both(receipts)

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if self.held:
            tasks = data.draw(st.lists(st.sampled_from(self.held), max_size=3))
            self.both(lambda store: store.release(tasks))

    @rule(task_id=IDS, wait=WAITS, permanent=st.booleans())
    def fail(self, task_id: int, wait: int | None, *, permanent: bool) -> None:
        self.both(lambda store: store.fail(task_id, permanent=permanent, retry_wait=wait))

    @rule(task_id=IDS, seconds=st.sampled_from([0, 5, 4000]))
    def yield_task(self, task_id: int, seconds: int) -> None:
        self.both(lambda store: store.yield_task(task_id, seconds))

    @rule(task_id=IDS)
    def complete(self, task_id: int) -> None:
        self.both(lambda store: store.complete(task_id, 5))

    @rule(task_id=IDS)
    def cancel(self, task_id: int) -> None:
        self.both(lambda store: store.cancel(task_id))

    @rule(ids=st.lists(IDS, max_size=4))
    def awaken(self, ids: list[int]) -> None:
        self.both(lambda store: store.awaken(ids))

    @rule(seconds=st.sampled_from([1, 2, 5, 61, 3601, 7201]))
    def time_passes(self, seconds: int) -> None:
        self.clock.epoch += seconds

    @rule()
    def restart(self) -> None:
        self.runner.run(self.store.close())
        self.store = self.runner.run(self.opened())
        self.model.turns.clear()

    @invariant()
    def both_show_the_same(self) -> None:
        self.both(lambda store: store.stats())
        self.both(lambda store: store.active_tasks(limit=100, offset=0))
        for classes in (ANY, ClassFilter(("A",)), ClassFilter(("B", "C")), ClassFilter((), ("A",))):
            self.both(lambda store, classes=classes: store.next_due(classes))  # type: ignore[misc]


@pytest.mark.parametrize("name", params(LASTING))
def test_a_store_does_what_the_model_does(name: str) -> None:
    machine = type("Machine", (StoreMachine,), {"factory_name": name})
    run_state_machine_as_test(machine, settings=settings(max_examples=40, stateful_step_count=30, deadline=None))
