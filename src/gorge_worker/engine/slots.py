"""Executing held tasks, never more than MAX_WORKERS at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec
import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine import own_outcomes
from gorge_worker.engine.attempt import attempt
from gorge_worker.engine.backends import Backends
from gorge_worker.engine.breaker import Breaker
from gorge_worker.engine.execution import time_allowed
from gorge_worker.engine.held import Held, HeldTasks, Phase
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.outcome_log import UnsupportedNotice, log_outcome
from gorge_worker.engine.reporting import Reporter
from gorge_worker.engine.stats import Stats
from gorge_worker.errors import LeaseLost
from gorge_worker.model import Outcome, Task, Verdict
from gorge_worker.registry import Handler, Registry

CUT_GRACE = 0.5
"""Seconds that cancelled executions get to end before their outcome is reported over their heads."""
MICROSECONDS = 1_000_000

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
        self._running: dict[Held, asyncio.Task[None]] = {}
        self._draining = False
        self._unsupported = UnsupportedNotice(own_outcomes.UNSUPPORTED_WAIT)

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
            self._give_back(held, own_outcomes.SHUTTING_DOWN)
            return False
        handler = self._registry.find(task.task_class)
        if handler is None:
            self._unsupported.tell(task)
            self._give_back(held, own_outcomes.NO_HANDLER)
            return False
        if pause := self._backends.wait_for(handler, asyncio.get_running_loop().time()):
            self._give_back(held, own_outcomes.paused(handler, pause))
            return False
        self._waiting.append(held)
        self._fill()
        return True

    def lose(self, held: Held, reason: str) -> None:
        """The task's lease is lost: its execution is cancelled, or it does not begin, and nothing is reported.

        What can't be cancelled keeps its slot until it ends by itself.
        """
        held.lose(reason)
        if held.phase is Phase.REPORTING:  # the reporter finds it lost, and says so
            return
        _log_loss(held)
        if held.phase is Phase.WAITING:
            self._waiting.remove(held)
            self._held.let_go(held)
            self._on_free(False)
        else:
            self._running[held].cancel()

    def drain(self) -> None:
        """Gives back what has not started, and starts nothing more."""
        self._draining = True
        while self._waiting:
            self._give_back(self._waiting.popleft(), own_outcomes.SHUTTING_DOWN)

    async def idle(self) -> None:
        """Returns when nothing is being executed."""
        while self._running:
            await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)

    async def cut(self) -> list[Task]:
        """Cancels what is still being executed and returns it. An execution that does not end at once (a handler in
        a thread) is reported all the same: it ends with the process.
        """
        cut = dict(self._running)
        for execution in cut.values():
            execution.cancel()
        if cut:
            await asyncio.wait(cut.values(), timeout=CUT_GRACE)
        for held, execution in cut.items():
            if not execution.done():
                self._finish(held, own_outcomes.LEFT_BEHIND, 0.0)
        return [held.lease.task for held in cut]

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
            self._give_back(held, own_outcomes.paused(handler, breaker.wait(now)))
            return
        held.phase = Phase.RUNNING
        self._stats.active += 1
        run = self._run(held, handler, time_allowed(handler, left, renewed=self._renews()))
        execution = self._running[held] = asyncio.create_task(run, name=f"task {task.id} {task.task_class}")
        execution.add_done_callback(partial(self._ended, held, breaker))

    async def _run(self, held: Held, handler: Handler, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        began, grant = loop.time(), held.grants
        try:
            outcome = await attempt(handler, held.lease, seconds, self._backends.of(handler))
        except LeaseLost as loss:
            if held.grants == grant and not held.is_lost:
                held.lose(str(loss))
                _log_loss(held)
            outcome = own_outcomes.HANDED_OUT_AGAIN
        except asyncio.CancelledError:
            outcome = own_outcomes.HANDED_OUT_AGAIN if held.lost else own_outcomes.cut(handler)
        self._finish(held, outcome, loop.time() - began)

    def _ended(self, held: Held, breaker: Breaker | None, execution: asyncio.Task[None]) -> None:
        del self._running[held]
        if execution.cancelled():  # before it had begun
            if breaker:
                breaker.undecided()
            self._finish(held, own_outcomes.NOT_BEGUN, 0.0)
        elif error := execution.exception():
            _log.error("the engine failed", task=held.lease.task.id, exc_info=error)
            self._finish(held, own_outcomes.ENGINE_FAILED, 0.0)
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


def _log_loss(held: Held) -> None:
    task = held.lease.task
    _log.warning("lease lost, nothing is reported", task=task.id, task_class=task.task_class, reason=held.loss)
