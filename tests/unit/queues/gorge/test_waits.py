from __future__ import annotations

import pytest

from gorge_worker.queues.gorge import waits as module
from gorge_worker.queues.gorge.waits import Waits


def test_a_task_is_kept_away_until_its_wait_is_over() -> None:
    waits = Waits()
    waits.keep(1, 300, now=100.0)
    assert waits.due(1, 398.9) == 399
    assert waits.due(1, 399.0) is None
    assert waits.due(2, 100.0) is None


def test_a_task_that_waits_for_nothing_still_waits_a_second() -> None:
    waits = Waits()
    waits.keep(1, 0, now=100.0)
    assert waits.due(1, 100.5) is not None


def test_a_new_wait_takes_the_place_of_the_old_one() -> None:
    waits = Waits()
    waits.keep(1, 300, now=0.0)
    waits.keep(1, 11, now=0.0)
    assert waits.due(1, 0.0) == 10


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    waits = Waits()
    for task_id in range(10):
        waits.keep(task_id, 300, now=0.0)
    assert list(waits._due) == [7, 8, 9]
    waits.keep(10, 300, now=1000.0)
    assert list(waits._due) == [10], "what is over is forgotten first"
