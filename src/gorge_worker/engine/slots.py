"""Executing held tasks, never more than MAX_WORKERS at a time."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable

import msgspec
import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine.backends import Backends
from gorge_worker.engine.execution import execute, time_allowed
from gorge_worker.engine.held import Held, HeldTasks, Phase
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.outcome_log import UnsupportedNotice, log_outcome
from gorge_worker.engine.reporting import Reporter
from gorge_worker.engine.stats import Stats
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.model import Outcome, Task, Verdict
from gorge_worker.registry import Handler, Registry

UNSUPPORTED_WAIT = 60
"""Seconds for which a task that nothing here can execute is given back."""
PAUSED_WAIT = 5
"""Seconds for which a task is given back whose backend executes nothing, however soon that is tried again."""
CUT_GRACE = 0.5
"""Seconds that cancelled executions get to end before their outcome is reported over their heads."""
MICROSECONDS = 1_000_000

_HANDED_OUT_AGAIN = Outcome.released("handed out again while its earlier lease was lost", PAUSED_WAIT)
"""For an execution whose lease was lost: it counts when the task came to this worker again before it had ended."""

_log = structlog.get_logger()


class Slots:
    """Starts held tasks in the order of their leases as slots become free, and passes every outcome to the reporter.

    `renews` tells whether leases are renewed while their tasks are executed. `on_free` is called whenever a slot has
    become free; it gets True when new tasks are to be expected in the queue.
    """

    def __init__(
        self,
        *,
        options: EngineOptions,
        registry: Registry,
        backends: Backends,
        held: HeldTasks,
        reporter: Reporter,
        stats: Stats,
        clock: Clock,
        hide_secrets: Callable[[str], str],
        renews: Callable[[], bool],
        on_free: Callable[[bool], None],
    ) -> None:
        self._options = options
        self._registry = registry
        self._backends = backends
        self._held = held
        self._reporter = reporter
        self._stats = stats
        self._clock = clock
        self._hide_secrets = hide_secrets
        self._renews = renews
        self._on_free = on_free
        self._waiting: deque[Held] = deque()
        self._running: dict[asyncio.Task[None], tuple[Held, Handler]] = {}
        self._draining = False
        self._unsupported = UnsupportedNotice(UNSUPPORTED_WAIT)

    @property
    def free(self) -> int:
        """Slots for which nothing is leased yet."""
        return self._options.max_workers - len(self._running) - len(self._waiting)

    def submit(self, held: Held) -> bool:
        """Takes a task that has just been leased; False when it goes straight back because nothing here can execute it
        now.
        """
        task = held.lease.task
        if self._draining:
            self._give_back(held, Outcome.released("the worker is shutting down"))
            return False
        handler = self._registry.find(task.task_class)
        if handler is None:
            self._unsupported.tell(task)
            self._give_back(held, Outcome.released("no handler for this class here", UNSUPPORTED_WAIT))
            return False
        if pause := self._backends.wait_for(handler, asyncio.get_running_loop().time()):
            self._give_back(held, _paused(handler, pause))
            return False
        self._waiting.append(held)
        self._fill()
        return True

    def lose(self, held: Held, reason: str) -> None:
        """The task's lease is lost: its execution is cancelled, or it does not begin, and nothing is reported.

        What can't be cancelled keeps its slot until it ends by itself.
        """
        self._mark_lost(held, reason)
        if held.phase is Phase.WAITING:
            self._waiting.remove(held)
            self._held.let_go(held)
            self._on_free(False)
        for execution, (running, _) in list(self._running.items()):
            if running is held:
                execution.cancel()

    def _mark_lost(self, held: Held, reason: str) -> None:
        held.lost = held.grants
        task = held.lease.task
        _log.warning("lease lost, nothing is reported", task=task.id, task_class=task.task_class, reason=reason)

    def drain(self) -> None:
        """Gives back what has not started, and starts nothing more."""
        self._draining = True
        while self._waiting:
            self._give_back(self._waiting.popleft(), Outcome.released("the worker is shutting down"))

    async def idle(self) -> None:
        """Returns when nothing is being executed."""
        while self._running:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)

    async def cut(self) -> list[Task]:
        """Cancels what is still being executed and returns it. An execution that does not end at once (a handler in
        a thread) is reported all the same: it ends with the process.
        """
        cut = list(self._running.items())
        for execution, _ in cut:
            execution.cancel()
        if cut:
            await asyncio.wait([execution for execution, _ in cut], timeout=CUT_GRACE)
        for execution, (held, _) in cut:
            if not execution.done():
                self._finish(held, Outcome.temporary_failure("cut by the worker's shutdown"), 0.0)
        return [held.lease.task for _, (held, _) in cut]

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._options.max_workers:
            self._start(self._waiting.popleft())

    def _start(self, held: Held) -> None:
        task = held.lease.task
        handler = self._registry.find(task.task_class)
        if handler is None:
            raise ValueError(f"task {task.id} waits for a slot, but {task.task_class} has no handler")
        left = held.lease.ends_at - self._clock.boottime()
        if left <= 0:
            _log.warning("lease ended before a slot was free", task=task.id, task_class=task.task_class)
            self._held.let_go(held)
            return
        now = asyncio.get_running_loop().time()
        breaker = self._backends.of(handler)
        if breaker and not breaker.admit(now):
            self._give_back(held, _paused(handler, breaker.wait(now)))
            return
        held.phase = Phase.RUNNING
        self._stats.active += 1
        execution = asyncio.create_task(self._run(held, handler, left), name=f"task {task.id} {task.task_class}")
        self._running[execution] = (held, handler)
        execution.add_done_callback(self._ended)

    async def _run(self, held: Held, handler: Handler, lease_left: float) -> None:
        loop = asyncio.get_running_loop()
        began, lease, grant = loop.time(), held.lease, held.grants
        breaker = self._backends.of(handler)
        try:
            outcome = await execute(handler, lease, time_allowed(handler, lease_left, renewed=self._renews()))
        except BackendUnavailable as trouble:
            if breaker is None:
                outcome = Outcome.temporary_failure(str(trouble))
            else:
                breaker.refused(loop.time(), str(trouble), trouble.retry_after)
                outcome = Outcome.released(str(trouble), PAUSED_WAIT)
        except LeaseLost as loss:
            if breaker:
                breaker.executed()
            if held.grants == grant:
                self._mark_lost(held, str(loss))
            outcome = _HANDED_OUT_AGAIN
        except asyncio.CancelledError:
            if breaker:
                breaker.undecided()
            outcome = _HANDED_OUT_AGAIN if held.lost else _cut_outcome(handler)
        else:
            if breaker:
                breaker.executed()
        self._finish(held, outcome, loop.time() - began)

    def _ended(self, execution: asyncio.Task[None]) -> None:
        held, _ = self._running.pop(execution)
        if not execution.cancelled() and (error := execution.exception()):
            _log.error("the engine failed", task=held.lease.task.id, exc_info=error)
            self._finish(held, Outcome.temporary_failure("the worker itself failed, see its log"), 0.0)
        expected = held.outcome is not None and bool(held.outcome.followups)
        self._fill()
        self._on_free(expected)

    def _finish(self, held: Held, outcome: Outcome, seconds: float) -> None:
        if held.phase is not Phase.RUNNING:  # cut, and reported over its head
            return
        self._stats.active -= 1
        if held.is_lost:
            self._held.let_go(held)
            return
        if outcome.verdict in (Verdict.PERMANENT_FAILURE, Verdict.TEMPORARY_FAILURE):
            self._stats.failed += 1
        # A handler's exception may hold anything, and the reason goes to the queue, which shows and logs it.
        outcome = msgspec.structs.replace(outcome, reason=self._hide_secrets(outcome.reason))
        log_outcome(held.lease.task, outcome, seconds)
        held.duration = round(seconds * MICROSECONDS) if outcome.duration is None else outcome.duration
        self._reporter.submit(held, outcome)

    def _give_back(self, held: Held, outcome: Outcome) -> None:
        log_outcome(held.lease.task, outcome, 0.0)
        self._reporter.submit(held, outcome)


def _paused(handler: Handler, pause: float) -> Outcome:
    return Outcome.released(f"backend {handler.backend} is paused", max(PAUSED_WAIT, math.ceil(pause)))


def _cut_outcome(handler: Handler) -> Outcome:
    """What is reported for an execution that the shutdown has cancelled: what may go on elsewhere must not be
    executed again at once.
    """
    reason = "cut by the worker's shutdown"
    return Outcome.yielded(PAUSED_WAIT, reason) if handler.stops_when_cancelled else Outcome.temporary_failure(reason)
