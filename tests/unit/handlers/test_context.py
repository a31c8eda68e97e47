from __future__ import annotations

from typing import Any

import pytest
from support.leases import QUEUE_TIME

from gorge_worker.errors import PermanentFailure
from gorge_worker.handlers.context import TaskContext
from gorge_worker.model import NewTask, Task


def context(data: str = "{}", **fields: Any) -> TaskContext:
    return TaskContext(Task(id=7, task_class="A", data=data, **fields), lambda: QUEUE_TIME + 0.9)


@pytest.mark.parametrize(
    ("data", "value"), [("5", 5), ("null", None), ('{"key":7714163963910349351}', {"key": 7714163963910349351})]
)
def test_data_is_decoded_from_json(data: str, value: object) -> None:
    assert context(data).data() == value


@pytest.mark.parametrize("data", ["", "not json", "NaN", "[" * 100_000])
def test_data_that_is_not_json_fails_the_task_for_good(data: str) -> None:
    with pytest.raises(PermanentFailure, match="not JSON"):
        context(data).data()


def test_the_failures_so_far_are_told() -> None:
    assert context(failure_count=3).failure_count == 3


def test_a_follow_up_s_data_is_encoded_as_json() -> None:
    one = context()
    one.follow_up("B", {"name": "峡谷", "key": 7714163963910349351})
    one.follow_up("B", None)
    assert [task.data for task in one.followups] == ['{"name":"峡谷","key":7714163963910349351}', "null"]


def test_a_follow_up_s_raw_data_is_kept_byte_for_byte() -> None:
    one = context()
    one.follow_up("B", raw_data='{ "a":1.0 }\n')
    assert one.followups == (NewTask(task_class="B", data='{ "a":1.0 }\n'),)


def test_a_follow_up_has_everything_that_a_task_can_have() -> None:
    one = context()
    one.follow_up("B", 1, priority=3000, object_phid="PHID-TASK-a", container_phid="PHID-PROJ-b", delay=1.5)
    assert one.followups == (
        NewTask(
            task_class="B",
            data="1",
            priority=3000,
            object_phid="PHID-TASK-a",
            container_phid="PHID-PROJ-b",
            delay_until=QUEUE_TIME + 2,
        ),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"data": 1, "raw_data": "1"},
        {"data": {1, 2}},
        {"data": float("nan")},
        {"data": "\ud800"},
        {"raw_data": "\ud800"},
        {"raw_data": b"1"},
        {"data": 1, "priority": "high"},
        {"data": 1, "object_phid": 5},
        {"data": 1, "delay": -1},
        {"data": 1, "delay": float("inf")},
        {"data": 1, "task_class": ""},
        {"data": 1, "task_class": 5},
    ],
    ids=str,
)
def test_a_follow_up_that_no_queue_would_take_is_refused_at_once(fields: dict[str, Any]) -> None:
    one = context()
    with pytest.raises((TypeError, ValueError)):
        one.follow_up(**{"task_class": "B", **fields})
    assert one.followups == ()
