from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.pace import FIRST_PAUSE, HIBERNATION_PAUSE, TROUBLE_LONGEST_PAUSE, Pace


def pace(now: float = 0.0, **options: float) -> Pace:
    return Pace(EngineOptions(**options), random.Random(0), now)  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(["empty", "worked"]), max_size=60), st.floats(0.001, 60))
def test_no_pause_on_an_empty_queue_is_longer_than_the_poll_interval(steps: list[str], interval: float) -> None:
    one = pace(poll_interval=interval, idle_timeout=0.0)
    for step in steps:
        if step == "worked":
            one.worked(0.0)
        else:
            assert 0 < one.empty(0.0) <= interval


def test_pauses_grow_from_tens_of_milliseconds_to_the_interval() -> None:
    one = pace(poll_interval=1.0)
    pauses = [one.empty(0.0) for _ in range(20)]
    assert pauses[0] <= FIRST_PAUSE
    assert 0.9 <= pauses[-1] <= 1.0
    assert sum(pauses[:8]) < 1.0


def test_work_makes_the_pauses_short_again() -> None:
    one = pace(poll_interval=1.0)
    for _ in range(20):
        one.empty(0.0)
    one.worked(0.0)
    assert one.empty(0.0) <= FIRST_PAUSE


def test_a_long_idle_worker_hibernates_and_work_ends_it() -> None:
    one = pace(poll_interval=1.0, idle_timeout=180.0)
    assert one.empty(179.0) <= 1.0
    assert one.empty(180.0) >= 0.9 * HIBERNATION_PAUSE
    one.worked(200.0)
    assert one.empty(201.0) <= FIRST_PAUSE


def test_an_idle_timeout_of_zero_never_hibernates() -> None:
    assert not pace(idle_timeout=0.0).hibernates(1e9)


def test_hibernation_never_polls_more_often_than_before() -> None:
    one = pace(poll_interval=60.0, idle_timeout=1.0)
    assert one.empty(2.0) >= 0.9 * 60.0


@given(st.floats(0.001, 0.5), st.integers(1, 50))
def test_trouble_backs_off_to_its_bound(interval: float, times: int) -> None:
    one = pace(poll_interval=interval)
    pauses = [one.trouble() for _ in range(times)]
    assert all(0 < pause <= TROUBLE_LONGEST_PAUSE for pause in pauses)
    assert pauses[-1] >= 0.9 * min(TROUBLE_LONGEST_PAUSE, 0.1 * 2 ** (times - 1))


def test_what_the_queue_asks_for_is_waited_at_least() -> None:
    assert pace().trouble(retry_after=17.0) == 17.0
