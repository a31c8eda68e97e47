"""What an execution says of the backend that it needs."""

from __future__ import annotations

import asyncio
import random

import pytest
from support.leases import lease_of
from support.memory_queue import FakeHandler

from gorge_worker.engine.attempt import attempt
from gorge_worker.engine.breaker import THRESHOLD, Breaker
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.model import Lease, Outcome, Verdict

pytestmark = pytest.mark.virtual_time


def open_breaker() -> Breaker:
    """Admits one probe now."""
    breaker = Breaker("backend", random.Random(1))
    for _ in range(THRESHOLD):
        breaker.refused(-1000.0, "refused")
    assert breaker.admit(asyncio.get_running_loop().time())
    return breaker


def raising(error: BaseException | None) -> FakeHandler:
    async def execute(_lease: Lease) -> Outcome:
        if error:
            raise error
        return Outcome.success()

    return FakeHandler(execute)


@pytest.mark.parametrize("error", [None, ValueError("x")])
async def test_an_execution_closes_the_breaker_whatever_came_of_it(error: Exception | None) -> None:
    breaker = open_breaker()
    outcome = await attempt(raising(error), lease_of(), 10, breaker)
    assert outcome.verdict is (Verdict.TEMPORARY_FAILURE if error else Verdict.SUCCESS)
    assert not breaker.is_open


async def test_a_refusal_keeps_it_open_and_gives_the_task_back_without_a_failure() -> None:
    breaker = open_breaker()
    outcome = await attempt(raising(BackendUnavailable("refused")), lease_of(), 10, breaker)
    assert outcome.verdict is Verdict.RELEASE
    assert breaker.is_open
    assert breaker.wait(asyncio.get_running_loop().time()) > 0


async def test_a_lost_lease_proves_that_the_backend_executes() -> None:
    breaker = open_breaker()
    with pytest.raises(LeaseLost):
        await attempt(raising(LeaseLost("gone")), lease_of(), 10, breaker)
    assert not breaker.is_open


async def test_an_execution_that_is_broken_off_says_nothing_and_lets_the_next_probe_come() -> None:
    async def hang(_lease: Lease) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    breaker = open_breaker()
    execution = asyncio.create_task(attempt(FakeHandler(hang), lease_of(), 1000, breaker))
    await asyncio.sleep(1)
    execution.cancel()
    await asyncio.wait([execution])
    assert execution.cancelled()
    assert breaker.is_open
    assert breaker.wait(asyncio.get_running_loop().time()) == 0


async def test_without_a_breaker_a_refusal_is_a_failure_of_the_task() -> None:
    outcome = await attempt(raising(BackendUnavailable("refused")), lease_of(), 10, None)
    assert (outcome.verdict, outcome.reason) == (Verdict.TEMPORARY_FAILURE, "refused")
