"""Lanes against the Go server's own rule: nothing is ever leased without somebody's knowing."""

from __future__ import annotations

import random

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.go_table import GoTable

from gorge_worker.queues.gorge.lanes import Lanes
from gorge_worker.queues.owners import OwnerNames


class Still:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def boottime(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now


def make(clock: Still | None = None) -> Lanes:
    return Lanes(OwnerNames(clock or Still(), random.Random(1)))


class OneWorkerOnGo(RuleBasedStateMachine):
    """Leases, finishes, fails, yields and looks through lanes in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Still()
        self.table = GoTable(self.clock.wall)
        self.lanes = make(self.clock)
        self.running: dict[int, str] = {}  # task -> the owner that it is executed under

    @rule(count=st.integers(1, 5), priority=st.sampled_from([1000, 2000, 4000]))
    def enqueue(self, count: int, priority: int) -> None:
        for _ in range(count):
            self.table.enqueue(priority=priority)

    @rule(limit=st.integers(1, 4))
    def ask(self, limit: int) -> None:
        hiding = len(self.lanes.hiding())
        lane = self.lanes.take(self.clock.now)
        assert len(self.lanes._lanes) <= len(self.running) + hiding + 2, "lanes pile up"
        rows = self.table.lease(lane.owner, limit)
        for row in rows:
            assert row.id not in self.running, "a running task is handed out to the same worker"
            self.running[row.id] = lane.owner
        ends = {row.id: self.clock.now + self.table.lease_duration for row in rows}
        self.lanes.answered(lane, ends, full=len(rows) >= limit, now=self.clock.now)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), how=st.sampled_from(["complete", "fail", "yield"]))
    def finish(self, data: st.DataObject, how: str) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.running)))
        del self.running[task_id]
        if how == "complete":
            assert self.table.archive(task_id, "success")
        elif how == "fail":
            self.table.fail(task_id, 300)
        else:
            self.table.yield_(task_id, 5)
        self.lanes.finished(task_id)

    @rule(seconds=st.sampled_from([1, 6, 400]))
    def time_passes(self, seconds: int) -> None:
        if not self.running:  # leases do not end while tasks run here: the engine stops those that overrun
            self.clock.now += seconds

    @rule()
    def look_through(self) -> None:
        lanes = self.lanes.hiding()
        known = {lane.owner: set(lane.held) for lane in lanes}
        self.lanes.look_through(lanes)
        for row in self.table.stranded():
            if row.owner in known and row.id not in known[row.owner]:
                self.table.yield_(row.id, 5)
        self.lanes.looked_through(lanes, found_all=True)

    @invariant()
    def every_lease_is_known_or_will_be_looked_for(self) -> None:
        hiding = {lane.owner for lane in self.lanes.hiding()}
        for row in self.table.stranded():
            assert row.id in self.running or row.owner in hiding, f"{row} is stranded"

    @invariant()
    def running_tasks_keep_their_lease(self) -> None:
        for task_id, owner in self.running.items():
            assert self.table.rows[task_id].owner == owner


TestOneWorkerOnGo = OneWorkerOnGo.TestCase


def test_a_lane_that_may_hide_tasks_asks_before_a_clean_one() -> None:
    lanes = make()
    first, second = lanes.take(0), lanes.take(0)
    lanes.answered(first, {}, full=False, now=0)
    lanes.answered(second, {7: 100.0}, full=True, now=0)
    lanes.finished(7)
    assert lanes.take(1) is second


def test_a_busy_lane_does_not_ask() -> None:
    lanes = make()
    lane = lanes.take(0)
    lanes.answered(lane, {7: 100.0}, full=True, now=0)
    assert lanes.take(1) is not lane


def test_a_lane_whose_leases_have_ended_is_free() -> None:
    lanes = make()
    lane = lanes.take(0)
    lanes.answered(lane, {7: 100.0}, full=True, now=0)
    assert lanes.take(100) is lane
    assert not lane.held


def test_one_clean_lane_is_kept() -> None:
    lanes = make()
    taken = [lanes.take(0) for _ in range(3)]
    for lane in taken:
        lanes.answered(lane, {}, full=False, now=0)
    assert lanes.take(0) is taken[0]
    assert list(lanes._lanes.values()) == [taken[0]]


def test_a_lane_that_stays_busy_is_looked_through_after_a_while() -> None:
    lanes = make()
    lane = lanes.take(0)
    lanes.answered(lane, {7: 9999.0}, full=True, now=0)
    assert lanes.overdue(29, 30) == []
    assert lanes.overdue(30, 30) == [lane]
    lanes.look_through([lane])
    assert lanes.overdue(31, 30) == []
    lanes.looked_through([lane], found_all=True)
    assert lanes.overdue(60, 30) == []


def test_a_lane_that_is_always_full_is_looked_through_in_the_end() -> None:
    lanes = make()
    for now in range(300):
        lane = lanes.take(now)
        assert not lanes.overdue(now, 30)
        lanes.answered(lane, {now: now + 1.0}, full=True, now=now)
    assert lanes.overdue(300, 30) == [lane]


def test_a_lane_being_looked_through_does_not_ask() -> None:
    lanes = make()
    lane = lanes.take(0)
    lanes.answered(lane, {}, full=True, now=0)
    lanes.look_through([lane])
    assert lanes.take(1) is not lane
    lanes.look_failed([lane])
    assert lanes.take(2) is lane


def test_an_answer_too_large_keeps_the_lane_but_not_its_good_name() -> None:
    lanes = make()
    lane = lanes.take(0)
    lanes.unread(lane)
    assert lanes.holds_unread()
    assert lanes.take(1) is lane
    lanes.answered(lane, {}, full=False, now=1)
    assert lanes.overdue(1, 30) == [lane]


def test_found_tasks_keep_a_lane_busy_until_they_are_back() -> None:
    lanes = make()
    lane = lanes.take(0)
    lanes.answered(lane, {}, full=True, now=0)
    lanes.hold(lane.owner, 5, 100.0)
    assert lanes.take(1) is not lane
    lanes.finished(5)
    assert lanes.take(2) is lane


def test_retiring_names_the_owners_that_may_hide_something() -> None:
    lanes = make()
    clean, hiding, busy = lanes.take(0), lanes.take(0), lanes.take(0)
    lanes.answered(clean, {}, full=False, now=0)
    lanes.answered(hiding, {}, full=True, now=0)
    lanes.answered(busy, {1: 99.0}, full=True, now=0)
    assert lanes.retire(1) == [hiding.owner]
    assert lanes.hiding() == [busy]
