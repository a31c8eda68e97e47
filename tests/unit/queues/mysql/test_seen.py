from __future__ import annotations

import pytest

from gorge_worker.queues.mysql import seen as module
from gorge_worker.queues.mysql.seen import (
    LASTS,
    LONGEST,
    MAX_FILTERS,
    MOST_RANGES,
    SHARE,
    WORTHWHILE,
    Seen,
    SeenByFilter,
)
from gorge_worker.queues.protocol import ANY, ClassFilter


class FakeTime:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(module, "time", fake)
    return fake


def test_short_stretches_are_not_remembered(time: FakeTime) -> None:
    seen = SeenByFilter()
    seen.skip(ANY, new={1000: 7}, rows=WORTHWHILE - 1, seconds=0.1)
    assert seen.of(ANY) == Seen()
    assert time.now == 100.0


def test_a_long_stretch_is_remembered_for_its_filter_and_for_a_while(time: FakeTime) -> None:
    seen, other = SeenByFilter(), ClassFilter(only=("A",))
    seen.skip(ANY, new={1000: 7}, rows=WORTHWHILE, seconds=0.1)
    assert seen.of(ANY).new == {1000: 7}
    assert seen.of(other) == Seen()
    time.now += LASTS - 0.001
    assert seen.of(ANY).new == {1000: 7}
    time.now += 0.001
    assert seen.of(ANY) == Seen()


def test_stretches_add_up_by_priority_and_for_both_lines(time: FakeTime) -> None:
    seen = SeenByFilter()
    seen.skip(ANY, new={1000: 7, 2000: 9}, rows=WORTHWHILE, seconds=0.1)
    seen.skip(ANY, due=(500, 3), rows=WORTHWHILE, seconds=0.1)
    seen.skip(ANY, new={2000: 20, 3000: 1}, rows=WORTHWHILE, seconds=0.1)
    assert seen.of(ANY).new == {1000: 7, 2000: 20, 3000: 1}
    assert seen.of(ANY).due == (500, 3)
    time.now += LASTS + SHARE
    assert seen.of(ANY) == Seen()


def test_what_took_long_to_look_at_is_not_looked_at_again_soon_but_within_a_minute(time: FakeTime) -> None:
    seen = SeenByFilter()
    seen.skip(ANY, new={1000: 1}, rows=WORTHWHILE, seconds=1.0)
    time.now += SHARE - 0.001
    assert seen.of(ANY).new == {1000: 1}
    for number in range(10):
        seen.skip(ANY, new={1000: number}, rows=WORTHWHILE, seconds=1.0)
    time.now = 100.0 + LONGEST - 0.001
    assert seen.of(ANY).new == {1000: 9}
    time.now += 0.001
    assert seen.of(ANY) == Seen()


def test_with_many_priorities_all_up_to_a_position_is_left_out(time: FakeTime) -> None:
    seen = SeenByFilter()
    seen.skip(ANY, new=dict.fromkeys(range(MOST_RANGES), 7), rows=WORTHWHILE, seconds=0.1)
    assert seen.of(ANY).position is None
    seen.skip(ANY, new={5000: 3}, rows=WORTHWHILE, seconds=0.1)
    assert (seen.of(ANY).new, seen.of(ANY).position) == ({}, (5000, 3))
    seen.skip(ANY, new={5000: 9, 6000: 1}, rows=WORTHWHILE, seconds=time.now * 0)
    assert seen.of(ANY).position == (6000, 1)


def test_what_was_put_back_here_is_looked_at_at_once(time: FakeTime) -> None:
    seen = SeenByFilter()
    seen.skip(ANY, new={1000: 7}, rows=WORTHWHILE, seconds=time.now)
    seen.clear()
    assert seen.of(ANY) == Seen()


def test_a_bounded_number_of_filters_is_remembered(time: FakeTime) -> None:
    seen = SeenByFilter()
    for number in range(5 * MAX_FILTERS):
        seen.skip(ClassFilter(only=(f"Class{number}",)), new={1: 1}, rows=WORTHWHILE, seconds=time.now)
        assert len(seen._seen) <= MAX_FILTERS
