"""Outcomes under a lease: id, owner and expiry as leased, and not run out."""

from __future__ import annotations

import msgspec
import pytest
from stores.factories import Place, add, lease, leased_ids, new, report_of

from gorge_worker.model import Outcome, Task
from gorge_worker.queues.protocol import Receipt, Report
from gorge_worker.queues.store import NoSuchTask

ACCEPTED, REFUSED, LOST = Receipt.ACCEPTED, Receipt.REFUSED, Receipt.LEASE_LOST
OUTCOMES = {
    "success": Outcome.success((new("Child"),)),
    "permanent failure": Outcome.permanent_failure("no"),
    "temporary failure": Outcome.temporary_failure("later", 60),
    "yield": Outcome.yielded(60),
    "release": Outcome.released("not ours"),
    "release with a wait": Outcome.released("not ours", 60),
}


def changed(report: Report, **fields: object) -> Report:
    return msgspec.structs.replace(report, lease=msgspec.structs.replace(report.lease, **fields))


async def test_a_success_archives_and_enqueues_its_follow_ups(place: Place) -> None:
    followups = (new("ChildA", "1"), new("ChildB", "2", priority=3500, object_phid="PHID-X"))
    async with place.open() as store:
        await add(store, new("Parent", priority=1500))
        [task] = await lease(store)
        [result] = await store.report([report_of(task, Outcome.success(followups), 99)])
        assert result.receipt is ACCEPTED
        with pytest.raises(NoSuchTask):
            await store.task(task.id)
        first, second = await lease(store, 9)
        assert (first.task_class, first.data, first.priority) == ("ChildA", "1", 1500)
        assert (second.task_class, second.data, second.priority) == ("ChildB", "2", 3500)
        assert second.object_phid == "PHID-X"


async def test_a_delayed_follow_up_waits(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        await store.report([report_of(task, Outcome.success((new("Child", delay_until=place.now + 60),)))])
        assert await lease(store) == []
        place.clock.epoch += 61
        assert [one.task_class for one in await lease(store)] == ["Child"]


@pytest.mark.parametrize(("wait", "seconds"), [(60, 60), (None, 300)])
async def test_a_temporary_failure_waits_as_long_as_it_says(place: Place, wait: int | None, seconds: int) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        [result] = await store.report([report_of(task, Outcome.temporary_failure("busy", wait))])
        after = await store.task(task.id)
        assert (result.receipt, after.lease_owner, after.failure_count) == (ACCEPTED, "(retry)", 1)
        assert (after.lease_expires, after.failure_time) == (place.now + seconds, place.now)


async def test_a_permanent_failure_leaves_no_follow_ups_and_no_duration(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        outcome = msgspec.structs.replace(Outcome.permanent_failure("no"), followups=(new("Child"),))
        [result] = await store.report([report_of(task, outcome)])
        stats = await store.stats()
        assert (result.receipt, stats.active, stats.archived) == (ACCEPTED, 0, 1)


@pytest.mark.parametrize(
    ("outcome", "seconds"),
    [
        (Outcome.yielded(2), 5),
        (Outcome.yielded(60), 60),
        (Outcome.released("filtered", 60), 60),
        (Outcome.released("filtered", 1), 5),
    ],
)
async def test_a_yield_and_a_release_with_a_wait_keep_the_task_away(
    place: Place, outcome: Outcome, seconds: int
) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        [result] = await store.report([report_of(task, outcome)])
        after = await store.task(task.id)
        assert (result.receipt, after.lease_owner, after.failure_count) == (ACCEPTED, "(yield)", 0)
        assert after.lease_expires == place.now + seconds


async def test_a_released_task_is_back_at_once_with_nothing_counted(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        [result] = await store.report([report_of(task, Outcome.released("not ours"))])
        after = await store.task(task.id)
        assert (result.receipt, after.lease_owner, after.lease_expires) == (ACCEPTED, None, None)
        assert (after.failure_count, after.failure_time) == (0, None)
        assert await leased_ids(store) == [task.id]


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize("what", ["owner", "later expiry", "earlier expiry", "task", "impossible task"])
async def test_a_report_under_another_lease_changes_nothing(place: Place, name: str, what: str) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        report = report_of(task, OUTCOMES[name])
        wrong = {
            "owner": changed(report, owner="somebody else"),
            "later expiry": changed(report, expires=report.lease.expires + 1),
            "earlier expiry": changed(report, expires=report.lease.expires - 1),
            "task": changed(report, task=Task(id=424_242, task_class="X")),
            "impossible task": changed(report, task=Task(id=2**70, task_class="X"), expires=2**70),
        }[what]
        [result] = await store.report([wrong])
        assert result.receipt is LOST
        assert await store.task(task.id) == task
        assert len(await store.active_tasks(limit=9, offset=0)) == 1


@pytest.mark.parametrize("name", OUTCOMES)
async def test_a_lease_is_good_in_its_last_second_and_lost_in_the_next(place: Place, name: str) -> None:
    async with place.open() as store:
        await add(store, new(), new())
        in_time, late = await lease(store, 2, "me", duration=10)
        place.clock.epoch += 10
        [result] = await store.report([report_of(in_time, OUTCOMES[name])])
        assert result.receipt is ACCEPTED
        place.clock.epoch += 1
        [result] = await store.report([report_of(late, OUTCOMES[name])])
        assert result.receipt is LOST, "run out, although nobody has taken the task since"
        assert await store.task(late.id) == late


@pytest.mark.parametrize("name", OUTCOMES)
async def test_a_late_report_does_not_hit_the_next_holder(place: Place, name: str) -> None:
    async with place.open() as store:
        await add(store)
        [late] = await lease(store, 1, "first", duration=1)
        place.clock.epoch += 2
        [held] = await lease(store, 1, "second")
        [result] = await store.report([report_of(late, OUTCOMES[name])])
        assert result.receipt is LOST
        assert await store.task(held.id) == held


async def test_a_repeated_success_is_accepted_and_adds_nothing(place: Place) -> None:
    async with place.open() as store:
        await add(store)
        [task] = await lease(store)
        report = report_of(task, Outcome.success((new("Child"),)))
        results = [*await store.report([report, report]), *await store.report([report])]
        place.clock.epoch += 100_000
        results += await store.report([report])
        assert [result.receipt for result in results] == [ACCEPTED] * 4
        stats = await store.stats()
        assert (stats.active, stats.archived) == (1, 1)


async def test_a_repeat_counts_only_for_the_same_outcome_under_the_same_lease(place: Place) -> None:
    async with place.open() as store:
        await add(store, new(), new())
        succeeded, failed = await lease(store, 2)
        success, failure = report_of(succeeded, Outcome.success()), report_of(failed, Outcome.permanent_failure("no"))
        await store.report([success, failure])
        results = await store.report(
            [
                changed(success, owner="somebody else"),
                changed(success, expires=success.lease.expires - 1),
                msgspec.structs.replace(success, outcome=Outcome.permanent_failure("no")),
                msgspec.structs.replace(success, outcome=Outcome.temporary_failure("no")),
                failure,
            ]
        )
        assert [result.receipt for result in results] == [LOST, LOST, LOST, LOST, ACCEPTED]


@pytest.mark.parametrize("bad", [new("A" * 65), new(""), new(priority=-1), new(data="\udc80")])
async def test_a_follow_up_that_no_column_holds_refuses_the_report_and_nothing_else(place: Place, bad: object) -> None:
    async with place.open() as store:
        await add(store, new(), new())
        task, neighbour = await lease(store, 2)
        refused = report_of(task, Outcome.success((new("Good"), bad)))  # type: ignore[arg-type]
        results = await store.report([refused, report_of(neighbour, Outcome.success())])
        assert [result.receipt for result in results] == [REFUSED, ACCEPTED]
        assert results[0].reason
        assert await store.active_tasks(limit=9, offset=0) == [msgspec.structs.replace(task, data="")]
        [again] = await store.report([report_of(task, Outcome.permanent_failure("refused"))])
        assert again.receipt is ACCEPTED


async def test_each_report_of_a_batch_has_its_own_result(place: Place) -> None:
    async with place.open() as store:
        await add(store, *[new() for _ in OUTCOMES])
        tasks = await lease(store, 9)
        reports = [report_of(task, outcome) for task, outcome in zip(tasks, OUTCOMES.values(), strict=True)]
        reports.insert(3, changed(reports[0], owner="somebody else", task=tasks[4]))
        results = await store.report(reports)
        assert [result.receipt for result in results] == [ACCEPTED] * 3 + [LOST] + [ACCEPTED] * 3


async def test_no_reports_are_no_trouble(place: Place) -> None:
    async with place.open() as store:
        assert await store.report([]) == []
