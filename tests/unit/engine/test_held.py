from __future__ import annotations

import pytest

from gorge_worker.engine.held import HeldTasks
from gorge_worker.model import Lease, Outcome, Task


def lease(task_id: int = 1, owner: str = "a", expires: int = 100) -> Lease:
    return Lease(task=Task(id=task_id, task_class="A"), owner=owner, expires=expires, ends_at=float(expires))


def test_a_task_is_held_once() -> None:
    tasks = HeldTasks()
    assert tasks.take(lease(1), 0.0) is not None
    assert tasks.take(lease(1), 0.0) is None
    assert tasks.take(lease(2), 0.0) is not None
    assert len(tasks) == 2


def test_a_newer_lease_replaces_the_older_of_a_held_task() -> None:
    tasks = HeldTasks()
    held = tasks.take(lease(), 0.0)
    assert held is not None
    assert tasks.take(lease(owner="b", expires=200), 0.0) is None
    assert (held.lease.owner, held.lease.expires) == ("b", 200)


def test_an_older_lease_replaces_nothing() -> None:
    tasks = HeldTasks()
    held = tasks.take(lease(), 0.0)
    assert held is not None
    tasks.take(lease(owner="b", expires=50), 0.0)
    assert held.lease.owner == "a"


def test_a_task_that_was_let_go_can_be_held_again() -> None:
    tasks = HeldTasks()
    held = tasks.take(lease(), 0.0)
    assert held is not None
    tasks.let_go(held)
    assert tasks.take(lease(), 0.0) is not None


def test_a_report_goes_out_under_the_lease_as_it_stands() -> None:
    tasks = HeldTasks()
    held = tasks.take(lease(), 0.0)
    assert held is not None
    with pytest.raises(ValueError, match="no outcome"):
        _ = held.report
    held.outcome, held.duration = Outcome.success(), 5
    tasks.take(lease(owner="b", expires=200), 0.0)
    assert (held.report.lease.owner, held.report.duration) == ("b", 5)
