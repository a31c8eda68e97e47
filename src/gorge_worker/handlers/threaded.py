"""Handler functions that block: they run in threads, which nothing can stop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import Executor, Future

import structlog

from gorge_worker.clock import Clock
from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import Marking
from gorge_worker.handlers.python import PythonHandler
from gorge_worker.model import Task

_log = structlog.get_logger()


class ThreadHandler(PythonHandler):
    """A plain function. It runs in a thread of `executor`, which should have as many threads as there are slots.

    A cancellation does not end `execute` before the function has returned: the task stays with this worker for as long
    as it is being executed. Then the CancelledError is raised, so that an `asyncio.timeout` around it reports a
    time-out. Any number of cancellations may come meanwhile. Who can't wait, as at the end of a shutdown, must leave
    the call behind and end the process with `os._exit`: an interpreter that exits waits for its threads.
    """

    stops_when_cancelled = False

    def __init__(
        self, function: Callable[[TaskContext], None], marking: Marking, clock: Clock, executor: Executor
    ) -> None:
        super().__init__(marking, clock)
        self._function = function
        self._executor = executor

    async def _call(self, context: TaskContext) -> BaseException | None:
        work = self._executor.submit(contextvars.copy_context().run, self._run, context)
        return await _ended(work, context.task)

    def _run(self, context: TaskContext) -> BaseException | None:
        # Returned, not raised: a future can't hold a StopIteration, and a SystemExit would end the event loop.
        try:
            result: object = self._function(context)
        except BaseException as error:  # noqa: BLE001 (whatever it raises is its own task's failure)
            return error
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            return TypeError("the handler returned something to await: is it an async function behind a decorator?")
        return None


async def _ended(work: Future[BaseException | None], task: Task) -> BaseException | None:
    waiting = asyncio.wrap_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not waiting.done():
        try:
            await asyncio.wait([waiting])
        except asyncio.CancelledError as error:
            if work.cancel():  # it has not begun
                raise
            if cancellation is None:
                _log.warning("handler can't be stopped, it keeps its slot", task=task.id, task_class=task.task_class)
            cancellation = error
    if cancellation is not None:
        _log.info("handler has returned at last", task=task.id, task_class=task.task_class)
        raise cancellation
    return waiting.result()
