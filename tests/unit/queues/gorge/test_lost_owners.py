from __future__ import annotations

import pytest

from gorge_worker.queues.gorge import lost_owners as module
from gorge_worker.queues.gorge.lost_owners import LostOwners


def test_an_owner_is_looked_for_twice() -> None:
    lost = LostOwners()
    lost.add("a", 0.0, away=9.0)
    assert lost.due(0.9) == []
    assert lost.due(1.0) == ["a"]
    assert lost.away("a") == 9
    lost.looked_for(["a"], 1.0, for_good=False)
    assert lost.due(59.0) == []
    assert lost.due(60.0) == ["a"]
    lost.looked_for(["a"], 60.0, for_good=False)
    assert lost.all() == []
    assert lost.away("a") == 0


def test_one_look_is_enough_when_it_is_late_or_for_good() -> None:
    lost = LostOwners()
    lost.add("late", 0.0, away=0.0)
    lost.looked_for(["late"], 61.0, for_good=False)
    lost.add("in vain", 0.0, away=0.0)
    lost.looked_for(["in vain"], 1.0, for_good=True)
    assert lost.all() == []


def test_what_broke_off_just_now_is_given_time_to_settle() -> None:
    lost = LostOwners()
    assert lost.unsettled(5.0, 1.0) == 0
    lost.add("a", 4.5, away=0.0)
    lost.add("b", 2.0, away=0.0)
    assert lost.unsettled(5.0, 1.0) == 0.5


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    lost = LostOwners()
    for owner in "abc":
        lost.add(owner, 0.0, away=0.0)
    assert lost.all() == ["b", "c"]
    lost.looked_for(["a", "b"], 99.0, for_good=False)
    assert lost.all() == ["c"]
