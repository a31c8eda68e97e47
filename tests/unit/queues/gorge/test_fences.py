"""Generation 1: what is said under a lease carries it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fenced import GO, OURS, THREE, fenced_lease

from gorge_worker.model import NewTask, Outcome
from gorge_worker.queues.gorge.fences import fenced_call, fenced_give_back
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.protocol import Report

WEEK = 604_800


def call(outcome: Outcome, generation: Generation = OURS) -> tuple[str, dict[str, Any]]:
    lease = fenced_lease(generation)
    return fenced_call(lease.fence, Report(lease=lease, outcome=outcome, duration=5))


@pytest.mark.parametrize(
    ("outcome", "route", "fields"),
    [
        (Outcome.success(), "finalize", {"duration": 5, "followups": []}),
        (
            Outcome.success((NewTask(task_class="A", data="1"), NewTask(task_class="B", priority=1, delay_until=9))),
            "finalize",
            {
                "duration": 5,
                "followups": [
                    {"taskClass": "A", "data": "1", "priority": 3500},
                    {"taskClass": "B", "data": "", "priority": 1, "delayUntil": 9},
                ],
            },
        ),
        (Outcome.permanent_failure("no"), "resolve", {"outcome": "failure", "message": "no"}),
        (Outcome.permanent_failure(""), "resolve", {"outcome": "failure"}),
        (Outcome.temporary_failure("", 60), "resolve", {"outcome": "retry", "retryWait": 60}),
        (Outcome.temporary_failure("", 0), "resolve", {"outcome": "retry", "retryWait": 0}),
        (Outcome.temporary_failure("busy"), "resolve", {"outcome": "retry", "message": "busy"}),
        (Outcome.yielded(60), "resolve", {"outcome": "yield", "duration": 60}),
        (Outcome.yielded(1), "resolve", {"outcome": "yield", "duration": 5}),
        (Outcome.released("full", 60), "resolve", {"outcome": "yield", "duration": 60}),
        (Outcome.released("full"), "resolve", {"outcome": "release"}),
    ],
)
def test_an_outcome_carries_its_lease(outcome: Outcome, route: str, fields: dict[str, Any]) -> None:
    assert call(outcome) == (route, THREE | fields)


def test_a_queue_that_knows_no_release_is_told_of_a_short_yield() -> None:
    assert call(Outcome.released("full"), GO) == ("resolve", THREE | {"outcome": "yield", "duration": 5})


@given(st.integers(-10, 10**9), st.sampled_from([GO, OURS]))
def test_no_wait_is_one_that_the_queue_would_refuse(wait: int, generation: Generation) -> None:
    retry = call(Outcome.temporary_failure("no", wait), generation)[1]
    assert retry["retryWait"] == min(max(wait, 0), WEEK)
    for outcome in (Outcome.yielded(wait), Outcome.released("full", wait)):
        body = call(outcome, generation)[1]
        assert body["outcome"] == "release" or body["duration"] == min(max(wait, 5), WEEK)


def test_a_task_that_was_leased_unawares_goes_back_under_its_own_lease() -> None:
    fence = fenced_lease().fence
    assert fenced_give_back(fence, 0) == ("resolve", THREE | {"outcome": "release"})
    assert fenced_give_back(fence, 59.2) == ("resolve", THREE | {"outcome": "yield", "duration": 60})
    fence = fenced_lease(GO).fence
    assert fenced_give_back(fence, -1) == ("resolve", THREE | {"outcome": "yield", "duration": 5})
