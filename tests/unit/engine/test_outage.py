from __future__ import annotations

import random

import pytest

from gorge_worker.engine.outage import FIRST_PAUSE, LONGEST_PAUSE, THRESHOLD, Outage


@pytest.fixture
def outage() -> Outage:
    return Outage(random.Random(0))


def test_without_trouble_all_calls_are_allowed(outage: Outage) -> None:
    assert outage.calls_allowed(0.0, 64) == 64


def test_a_few_bad_answers_are_no_outage(outage: Outage) -> None:
    for _ in range(THRESHOLD - 1):
        outage.trouble(0.0, "no")
    assert outage.calls_allowed(0.0, 64) == 64
    assert not outage.over()


def test_in_an_outage_one_call_is_allowed_after_each_pause(outage: Outage) -> None:
    for _ in range(THRESHOLD):
        outage.trouble(0.0, "no")
    assert outage.calls_allowed(0.0, 64) == 0
    assert outage.calls_allowed(FIRST_PAUSE, 64) == 1


def test_pauses_grow_to_their_bound(outage: Outage) -> None:
    for _ in range(THRESHOLD):
        outage.trouble(0.0, "no")
    now, pauses = 0.0, []
    for _ in range(10):
        pauses.append(outage.wait(now))
        now += pauses[-1]
        outage.trouble(now, "no")
    assert pauses[0] < pauses[2]
    assert 0.8 * LONGEST_PAUSE <= pauses[-1] <= LONGEST_PAUSE


def test_answers_to_calls_that_were_under_way_do_not_lengthen_the_pause(outage: Outage) -> None:
    for _ in range(60):
        outage.trouble(0.0, "no")
    assert outage.wait(0.0) <= FIRST_PAUSE


def test_a_good_answer_ends_it(outage: Outage) -> None:
    for _ in range(THRESHOLD):
        outage.trouble(0.0, "no")
    assert outage.over()
    assert outage.calls_allowed(0.0, 64) == 64
    assert not outage.over()


def test_what_the_queue_asks_for_is_waited_at_least(outage: Outage) -> None:
    for _ in range(THRESHOLD):
        outage.trouble(0.0, "no", retry_after=20.0)
    assert outage.wait(0.0) == 20.0
