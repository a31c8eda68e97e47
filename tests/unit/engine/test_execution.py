from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_queue import FakeHandler

from gorge_worker.engine.execution import execute, time_allowed
from gorge_worker.engine.options import DEFAULT_TIMEOUT
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.model import Lease, Outcome, Task

LEASE = Lease(task=Task(id=1, task_class="A"), owner="o", expires=10, ends_at=10.0)


def raising(error: BaseException) -> FakeHandler:
    async def fail(_lease: Lease) -> Outcome:
        raise error

    return FakeHandler(fail)


async def hang(_lease: Lease) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


@given(st.none() | st.floats(0, 1e5), st.just(0.0) | st.floats(0.001, 1e5))
def test_an_execution_ends_before_its_lease(limit: float | None, left: float) -> None:
    allowed = time_allowed(FakeHandler(timeout=limit), left, renewed=False)
    assert 0 <= allowed <= (DEFAULT_TIMEOUT if limit is None else limit)
    assert allowed < left or left == 0


@given(st.none() | st.floats(0, 1e5), st.floats(0.001, 1e5))
def test_a_lease_that_is_renewed_does_not_limit_an_execution(limit: float | None, left: float) -> None:
    allowed = time_allowed(FakeHandler(timeout=limit), left, renewed=True)
    assert allowed == (DEFAULT_TIMEOUT if limit is None else limit)


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("odd"), Outcome.temporary_failure("ValueError: odd", 30)),
        (KeyError(), Outcome.temporary_failure("KeyError", 30)),
        (TimeoutError("its own"), Outcome.temporary_failure("TimeoutError: its own", 30)),
    ],
)
async def test_what_a_handler_raises_is_an_outcome(error: Exception, outcome: Outcome) -> None:
    assert await execute(raising(error), LEASE, 5.0) == outcome


@pytest.mark.virtual_time
@pytest.mark.parametrize("error", [BackendUnavailable("down"), LeaseLost("taken"), asyncio.CancelledError()])
async def test_what_is_no_outcome_is_passed_on(error: BaseException) -> None:
    with pytest.raises(type(error)):
        await execute(raising(error), LEASE, 5.0)


@pytest.mark.virtual_time
async def test_a_time_out_is_a_temporary_failure() -> None:
    outcome = await execute(FakeHandler(hang), LEASE, 7.0)
    assert outcome == Outcome.temporary_failure("time-out: not finished within 7 s", 30)
    assert asyncio.get_running_loop().time() == 1007.0
