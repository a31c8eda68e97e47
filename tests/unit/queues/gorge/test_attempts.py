from __future__ import annotations

import pytest

from gorge_worker.model import Lease, Task
from gorge_worker.queues.gorge import attempts as module
from gorge_worker.queues.gorge.attempts import Attempts


def lease(task_id: int, owner: str = "me") -> Lease:
    return Lease(task=Task(id=task_id, task_class="Some"), owner=owner, expires=0, ends_at=50.0)


def test_the_tries_of_one_lease_belong_together() -> None:
    attempts = Attempts()
    first = attempts.of(lease(1))
    assert attempts.of(lease(1)) is first
    assert attempts.of(lease(1, "me again")) is not first


def test_a_report_is_open_until_its_final_answer_or_the_end_of_its_lease() -> None:
    attempts = Attempts()
    attempt = attempts.of(lease(1))
    assert attempts.is_open(1, 49.9)
    assert not attempts.is_open(1, 50.0)
    attempts.close(attempt)
    assert not attempts.is_open(1, 0.0)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    attempts = Attempts()
    for task_id in (1, 2, 3):
        attempts.of(lease(task_id))
    assert [attempts.is_open(task_id, 0.0) for task_id in (1, 2, 3)] == [False, True, True]
