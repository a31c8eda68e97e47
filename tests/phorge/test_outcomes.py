"""What becomes of tasks that end in every way there is. PHP's own daemon, which is right, passes the same tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.waiting import until

from phorge.support.background import Background
from phorge.support.executing import TASKMASTER
from phorge.support.install import Phorge

pytestmark = pytest.mark.limit(120)
DEFAULT_WAIT = 300
PERMANENT = 1
NUMBER = 9_007_199_254_740_993
"""More than a floating point number can hold exactly."""
NEAR = 30
"""Seconds that two times may differ in which one program has made of two readings of a clock."""


async def test_a_failure_waits_as_long_as_its_class_says(empty: Phorge, executing: Background) -> None:
    empty.enqueue("SuiteFailWorker", {}, priority=3000)
    await empty.queue.idle()
    executing.assert_runs()

    [row] = empty.queue.active
    assert (row["failureCount"], row["priority"]) == (1, 3000)
    assert row["leaseOwner"] is not None
    assert row["leaseExpires"] - row["failureTime"] == pytest.approx(1000, abs=NEAR)
    assert not empty.queue.archived


async def test_a_failure_waits_for_the_default_where_its_class_says_nothing(
    empty: Phorge, executing: Background
) -> None:
    empty.enqueue("SuiteDefaultWaitWorker", {})
    await empty.queue.idle()
    executing.assert_runs()

    [row] = empty.queue.active
    assert row["failureCount"] == 1
    assert row["leaseExpires"] - row["failureTime"] == pytest.approx(DEFAULT_WAIT, abs=NEAR)


async def test_the_second_failure_waits_for_what_the_class_says_of_two(empty: Phorge, executing: Background) -> None:
    [task] = empty.enqueue("SuiteFailWorker", {})
    await empty.queue.idle()
    empty.queue.run("UPDATE worker_activetask SET leaseExpires = UNIX_TIMESTAMP() - 1 WHERE id = %s", task)
    await until(lambda: empty.queue.active[0]["failureCount"] == 2, within=60, what="the second failure")
    executing.assert_runs()

    [row] = empty.queue.active
    assert row["leaseExpires"] - row["failureTime"] == pytest.approx(2000, abs=NEAR)


async def test_more_failures_than_a_class_allows_are_a_permanent_one(
    empty: Phorge, executing: Background, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    empty.enqueue("SuiteLimitedWorker", {"file": str(record)})
    await empty.queue.drained()
    executing.assert_runs()

    [row] = empty.queue.archived
    assert (row["result"], row["failureCount"], row["duration"]) == (PERMANENT, 2, 0)
    assert len(record.read_text().splitlines()) == 2


async def test_a_permanent_failure_is_archived_at_once(empty: Phorge, executing: Background) -> None:
    empty.enqueue("SuitePermanentWorker", {}, priority=1234)
    await empty.queue.drained()
    executing.assert_runs()

    [row] = empty.queue.archived
    assert (row["result"], row["failureCount"], row["duration"]) == (PERMANENT, 0, 0)
    assert row["priority"] == 1234
    assert row["archivedEpoch"] == pytest.approx(row["dateModified"], abs=NEAR)


async def test_a_class_that_is_gone_fails_permanently(empty: Phorge, executing: Background, kind: str) -> None:
    if kind == TASKMASTER:
        pytest.skip("PHP's own daemon tries it for ever")
    empty.enqueue("SuiteGoneWorker", {})
    await empty.queue.drained()
    executing.assert_runs()

    [row] = empty.queue.archived
    assert (row["taskClass"], row["result"], row["failureCount"]) == ("SuiteGoneWorker", PERMANENT, 0)


async def test_a_task_that_yields_is_executed_again_when_it_is_awakened(
    empty: Phorge, executing: Background, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    [task] = empty.enqueue("SuiteYieldWorker", {"file": str(record)})
    await empty.queue.idle()
    [row] = empty.queue.active
    assert (row["leaseOwner"], row["failureCount"], row["failureTime"]) == ("(yield)", 0, None)
    assert row["leaseExpires"] - row["dateModified"] == pytest.approx(1234, abs=NEAR)

    empty.script("awaken", ids=[task])
    await empty.queue.drained()
    executing.assert_runs()
    assert empty.queue.executed() == {"SuiteYieldWorker": 1}
    assert [line.split()[0] for line in record.read_text().splitlines()] == [str(task)] * 2


async def test_follow_up_tasks_are_queued_with_what_their_parent_says(
    empty: Phorge, executing: Background, tmp_path: Path
) -> None:
    data = {"file": str(tmp_path / "record")}
    [parent] = empty.enqueue("SuiteParentWorker", data, priority=2345)
    await until(lambda: len(empty.queue.archived) == 4, within=60, what="parent and follow-ups are done")
    executing.assert_runs()

    assert empty.queue.executed() == {"SuiteParentWorker": 1, "SuiteNoteWorker": 2, "SuiteExactWorker": 1}
    followups = [row for row in empty.queue.archived if row["id"] != parent]
    fields = ("taskClass", "priority", "objectPHID", "containerPHID")
    assert [tuple(row[name] for name in fields) for row in followups] == [
        ("SuiteNoteWorker", 2345, None, None),
        ("SuiteNoteWorker", 4321, b"PHID-SUIT-object", b"PHID-SUIT-container"),
        ("SuiteExactWorker", 2345, None, None),
    ]
    assert [json.loads(row["data"]) for row in followups] == [data, data, {"key": NUMBER}]


async def test_data_of_every_kind_arrives_as_it_was_queued(empty: Phorge, executing: Background) -> None:
    empty.enqueue("SuiteExactWorker", NUMBER)
    empty.enqueue("SuiteExactWorker", {"key": NUMBER, "other": ["\N{SNOWMAN}", None, 1.5]})
    await empty.queue.drained()
    executing.assert_runs()
    assert empty.queue.executed() == {"SuiteExactWorker": 2}
