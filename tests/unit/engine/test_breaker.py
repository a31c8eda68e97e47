from __future__ import annotations

import random

import pytest

from gorge_worker.engine.breaker import FIRST_PAUSE, LONGEST_PAUSE, THRESHOLD, Breaker


@pytest.fixture
def breaker() -> Breaker:
    return Breaker("conduit", random.Random(0))


def opened(breaker: Breaker, now: float = 0.0) -> Breaker:
    for _ in range(THRESHOLD):
        assert breaker.admit(now)
        breaker.refused(now, "no")
    return breaker


def test_it_opens_after_a_few_refusals_in_a_row(breaker: Breaker) -> None:
    for _ in range(THRESHOLD - 1):
        breaker.refused(0.0, "no")
    assert breaker.admit(0.0)
    breaker.refused(0.0, "no")
    assert breaker.is_open
    assert not breaker.admit(0.0)


def test_an_execution_between_refusals_keeps_it_closed(breaker: Breaker) -> None:
    for _ in range(10):
        breaker.refused(0.0, "no")
        breaker.executed()
    assert not breaker.is_open


def test_one_probe_at_a_time_is_admitted_after_the_pause(breaker: Breaker) -> None:
    opened(breaker)
    assert breaker.wait(0.0) >= 0.9 * FIRST_PAUSE
    assert breaker.admit(FIRST_PAUSE)
    assert not breaker.admit(FIRST_PAUSE)
    assert breaker.wait(FIRST_PAUSE) > 0


def test_a_probe_that_executes_closes_it(breaker: Breaker) -> None:
    opened(breaker)
    assert breaker.admit(FIRST_PAUSE)
    breaker.executed()
    assert not breaker.is_open
    assert breaker.admit(FIRST_PAUSE)


def test_each_failed_probe_lengthens_the_pause_to_its_bound(breaker: Breaker) -> None:
    opened(breaker)
    now, pauses = 0.0, []
    for _ in range(12):
        now += breaker.wait(now)
        assert breaker.admit(now)
        breaker.refused(now, "no")
        pauses.append(breaker.wait(now))
    assert pauses[0] > FIRST_PAUSE
    assert 0.9 * LONGEST_PAUSE <= pauses[-1] <= LONGEST_PAUSE


def test_refusals_of_calls_that_were_under_way_do_not_lengthen_the_pause(breaker: Breaker) -> None:
    opened(breaker)
    before = breaker.wait(0.0)
    for _ in range(50):
        breaker.refused(0.0, "no")
    assert breaker.wait(0.0) == before


def test_what_the_backend_asks_for_is_waited_at_least(breaker: Breaker) -> None:
    for _ in range(THRESHOLD):
        breaker.refused(0.0, "busy", retry_after=45.0)
    assert breaker.wait(0.0) == 45.0
