from __future__ import annotations

import json
from typing import Any

import msgspec

from gorge_worker.model import ArchivedTask, ArchiveResult, Task
from gorge_worker.queues.store import StoreStats
from gorge_worker.web.queue_answers import show, show_archived, show_stats, show_whole

BARE = Task(id=1, task_class="A")
FULL = Task(
    id=1,
    task_class="A",
    lease_owner="o",
    lease_expires=2,
    failure_count=3,
    data_id=4,
    failure_time=5,
    priority=6,
    object_phid="p",
    container_phid="q",
    date_created=7,
    date_modified=8,
    data="9",
)
ALL = [
    "id",
    "taskClass",
    "leaseOwner",
    "leaseExpires",
    "failureCount",
    "dataID",
    "failureTime",
    "priority",
    "objectPHID",
    "containerPHID",
    "dateCreated",
    "dateModified",
]


def sent(shown: Any) -> dict[str, Any]:
    decoded = json.loads(msgspec.json.encode(shown))
    assert isinstance(decoded, dict)
    return decoded


def test_a_task_has_phorges_names_in_the_contracts_order() -> None:
    assert list(sent(show(FULL))) == ALL
    assert list(sent(show_whole(FULL))) == [*ALL, "data"]
    assert list(sent(show_whole(FULL)).values()) == [1, "A", "o", 2, 3, 4, 5, 6, "p", "q", 7, 8, "9"]


def test_optional_fields_are_left_out_when_empty_and_others_never() -> None:
    fixed = ["id", "taskClass", "failureCount", "dataID", "priority", "dateCreated", "dateModified"]
    assert list(sent(show(BARE))) == fixed
    assert list(sent(show(msgspec.structs.replace(BARE, lease_owner="", object_phid="")))) == fixed
    assert sent(show_whole(BARE))["data"] == ""


def test_an_archived_task_tells_its_end() -> None:
    archived = ArchivedTask(task=FULL, result=ArchiveResult.CANCELLED, duration=10, archived_epoch=11)
    assert list(sent(show_archived(archived))) == [*ALL, "result", "duration", "archivedEpoch"]
    assert list(sent(show_archived(archived)).values())[-3:] == [2, 10, 11]


def test_stats_are_named_after_what_they_count() -> None:
    stats = StoreStats(active=1, leased=2, archived=3, failed=4)
    assert show_stats(stats) == {"activeCount": 1, "leasedCount": 2, "archivedCount": 3, "failedCount": 4}
