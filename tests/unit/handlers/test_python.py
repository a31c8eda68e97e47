from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.leases import QUEUE_TIME, FixedClock, lease_of
from support.waiting import until

from gorge_worker.errors import PermanentFailure, YieldTask
from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import marking_of, task_handler
from gorge_worker.handlers.python import AsyncHandler, is_async
from gorge_worker.model import NewTask, Outcome, Verdict


def handler(function: Callable[[TaskContext], Awaitable[None]], **options: Any) -> AsyncHandler:
    marking = marking_of(task_handler("ExampleWorker", **options)(function))
    assert marking is not None
    return AsyncHandler(function, marking, FixedClock(boottime=10.0))


def raising(error: BaseException, **options: Any) -> AsyncHandler:
    async def function(_: TaskContext) -> None:
        raise error

    return handler(function, **options)


async def test_returning_is_a_success_with_the_follow_ups() -> None:
    async def function(context: TaskContext) -> None:
        context.follow_up("ChildWorker", 5, delay=20)

    outcome = await handler(function).execute(lease_of())
    child = NewTask(task_class="ChildWorker", data="5", delay_until=QUEUE_TIME + 10 + 20)
    assert outcome == Outcome.success((child,)), "the delay counts on the queue's clock, not on this machine's"


async def test_follow_ups_count_only_with_a_success() -> None:
    async def function(context: TaskContext) -> None:
        context.follow_up("ChildWorker", 5)
        raise YieldTask(30)

    assert await handler(function).execute(lease_of()) == Outcome.yielded(30)


async def test_a_permanent_failure_says_why() -> None:
    assert await raising(PermanentFailure("gone\nfor good")).execute(lease_of()) == (
        Outcome.permanent_failure("gone for good")
    )
    assert (await raising(PermanentFailure()).execute(lease_of())).reason == "its handler gave no reason"


@pytest.mark.parametrize(("seconds", "wait"), [(30, 30), (2.5, 3), (-3, 0), (float("inf"), 0), ("x", 0)])
async def test_a_yield_is_in_whole_seconds(seconds: Any, wait: int) -> None:
    assert await raising(YieldTask(seconds)).execute(lease_of()) == Outcome.yielded(wait)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("bad\nvalue"), "ValueError: bad value"),
        (TimeoutError(), "TimeoutError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (BaseException("odd"), "BaseException: odd"),
        (KeyError("x" * 1000), "KeyError: 'xxx"),
    ],
)
async def test_anything_else_is_a_temporary_failure_with_its_traceback_logged(
    error: BaseException, reason: str
) -> None:
    with capture_logs() as logs:
        outcome = await raising(error).execute(lease_of())
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert outcome.reason.startswith(reason)
    assert len(outcome.reason) <= 500
    [line] = logs
    assert (line["task"], line["task_class"], line["exc_info"]) == (7, "ExampleWorker", error)


async def test_an_exception_that_cannot_be_written_is_still_a_temporary_failure() -> None:
    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert (await raising(UnprintableError()).execute(lease_of())).verdict is Verdict.TEMPORARY_FAILURE


@pytest.mark.parametrize(
    ("retry_wait", "wait"),
    [
        (None, None),
        (77, 77),
        (1.5, 2),
        (lambda failures: 15 * failures, 45),
        (lambda _: None, None),
        (lambda _: -1, None),
    ],
)
async def test_the_wait_after_a_failure_is_the_handlers_or_the_queues(retry_wait: Any, wait: int | None) -> None:
    outcome = await raising(ValueError(), retry_wait=retry_wait).execute(lease_of(failure_count=2))
    assert outcome.wait == wait


async def test_a_retry_wait_that_raises_costs_no_outcome() -> None:
    outcome = await raising(ValueError("bad"), retry_wait=lambda failures: failures / 0).execute(lease_of())
    assert outcome == Outcome.temporary_failure("ValueError: bad")


@pytest.mark.parametrize(("failures", "executed"), [(0, True), (3, True), (4, False)])
async def test_a_maximum_of_three_failures_allows_four_executions(failures: int, executed: bool) -> None:  # noqa: FBT001 (the expected value)
    calls = []

    async def function(context: TaskContext) -> None:
        calls.append(context)

    outcome = await handler(function, max_failures=3).execute(lease_of(failure_count=failures))
    assert bool(calls) is executed
    assert outcome.verdict is (Verdict.SUCCESS if executed else Verdict.PERMANENT_FAILURE)


async def test_a_cancelled_execution_ends_as_cancelled() -> None:
    began = asyncio.Event()

    async def function(_: TaskContext) -> None:
        began.set()
        await asyncio.Event().wait()

    execution = asyncio.create_task(handler(function).execute(lease_of()))
    await began.wait()
    execution.cancel()
    with pytest.raises(asyncio.CancelledError):
        await execution


async def test_something_cancelled_inside_the_handler_is_a_failure_like_any_other() -> None:
    async def function(_: TaskContext) -> None:
        inner = asyncio.get_running_loop().create_future()
        inner.cancel()
        await inner

    assert (await handler(function).execute(lease_of())).verdict is Verdict.TEMPORARY_FAILURE


async def test_a_time_out_of_the_engine_is_seen_by_the_engine() -> None:
    async def function(_: TaskContext) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await handler(function).execute(lease_of())


def test_what_gives_something_to_await_is_async() -> None:
    async def function(context: TaskContext) -> None: ...

    class Callable_:  # noqa: N801 (the name is taken)
        async def __call__(self, context: TaskContext) -> None: ...

    assert is_async(function)
    assert is_async(partial(function))
    assert is_async(Callable_())
    assert not is_async(until.__class__)
    assert not is_async(lambda context: context)
