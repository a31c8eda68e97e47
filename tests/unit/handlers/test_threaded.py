from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.leases import FixedClock, lease_of
from support.waiting import until

from gorge_worker.errors import PermanentFailure, YieldTask
from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import marking_of, task_handler
from gorge_worker.handlers.threaded import ThreadHandler
from gorge_worker.model import NewTask, Outcome, Verdict

Making = Callable[..., ThreadHandler]


@pytest.fixture
def make() -> Iterator[Making]:
    with ThreadPoolExecutor(1) as executor:

        def handler(function: Callable[[TaskContext], Any], **options: Any) -> ThreadHandler:
            marking = marking_of(task_handler("ExampleWorker", **options)(function))
            assert marking is not None
            return ThreadHandler(function, marking, FixedClock(), executor)

        yield handler


class Stuck:
    """A function that blocks its thread until it is told to go on."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, _: TaskContext) -> None:
        self.began.set()
        assert self.go_on.wait(10)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    function = Stuck()
    yield function
    function.go_on.set()


async def test_a_function_runs_in_a_thread_with_the_context_of_its_caller(make: Making) -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    seen: list[object] = []

    def function(context: TaskContext) -> None:
        seen.extend([threading.current_thread() is threading.main_thread(), variable.get()])
        context.follow_up("ChildWorker", 5)

    variable.set("set")
    outcome = await make(function).execute(lease_of())
    assert seen == [False, "set"]
    assert outcome == Outcome.success((NewTask(task_class="ChildWorker", data="5"),))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (PermanentFailure("gone"), Verdict.PERMANENT_FAILURE),
        (YieldTask(30), Verdict.YIELD),
        (ValueError("bad"), Verdict.TEMPORARY_FAILURE),
        (StopIteration(), Verdict.TEMPORARY_FAILURE),
        (SystemExit(1), Verdict.TEMPORARY_FAILURE),
        (KeyboardInterrupt(), Verdict.TEMPORARY_FAILURE),
        (asyncio.CancelledError(), Verdict.TEMPORARY_FAILURE),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_a_function_raises_is_its_own_tasks_outcome(
    make: Making, error: BaseException, verdict: Verdict
) -> None:
    def function(_: TaskContext) -> None:
        raise error

    assert (await make(function).execute(lease_of())).verdict is verdict


async def test_an_async_function_behind_a_plain_one_is_not_taken_for_done(make: Making) -> None:
    async def inner(_: TaskContext) -> None:
        raise AssertionError("not reached")

    outcome = await make(lambda context: inner(context)).execute(lease_of())  # noqa: PLW0108 (a plain function is the point)
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert "async" in outcome.reason


async def started(handler: ThreadHandler, stuck: Stuck) -> asyncio.Task[Outcome]:
    execution = asyncio.create_task(handler.execute(lease_of()))
    await until(stuck.began.is_set)
    return execution


async def test_a_cancellation_waits_for_the_thread_however_often_it_comes(make: Making, stuck: Stuck) -> None:
    with capture_logs() as logs:
        execution = await started(make(stuck), stuck)
        for _ in range(3):
            execution.cancel()
            await asyncio.wait([execution], timeout=0.02)
            assert not execution.done()
        assert [line["event"] for line in logs] == ["handler can't be stopped, it keeps its slot"]
        stuck.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await execution
    assert logs[-1]["event"] == "handler has returned at last"


async def test_an_overrun_counts_as_a_time_out_once_the_thread_has_ended(make: Making, stuck: Stuck) -> None:
    ended: list[bool] = []

    async def bounded() -> None:
        async with asyncio.timeout(0.01) as limit:
            try:
                await make(stuck).execute(lease_of())
            finally:
                ended.append(stuck.go_on.is_set())
        raise AssertionError(limit)

    execution = asyncio.create_task(bounded())
    await until(stuck.began.is_set)
    await asyncio.wait([execution], timeout=0.05)
    assert not execution.done()
    stuck.go_on.set()
    with pytest.raises(TimeoutError):
        await execution
    assert ended == [True]


async def test_a_shutdown_during_an_overrun_is_a_cancellation_not_a_time_out(make: Making, stuck: Stuck) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(0.01):
            await make(stuck).execute(lease_of())

    execution = asyncio.create_task(bounded())
    await until(stuck.began.is_set)
    await asyncio.wait([execution], timeout=0.05)
    execution.cancel()
    await asyncio.wait([execution], timeout=0.02)
    assert not execution.done()
    stuck.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await execution


async def test_a_function_that_has_not_begun_is_not_waited_for(make: Making, stuck: Stuck) -> None:
    called: list[TaskContext] = []

    def never(context: TaskContext) -> None:
        called.append(context)

    first = await started(make(stuck), stuck)
    second = asyncio.create_task(make(never).execute(lease_of()))
    await asyncio.wait([second], timeout=0.02)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    stuck.go_on.set()
    assert (await first).verdict is Verdict.SUCCESS
    assert called == []
