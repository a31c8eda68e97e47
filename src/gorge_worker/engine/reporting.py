"""Reporting outcomes until the queue has accepted or refused them, or the lease has ended."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine.held import Held, HeldTasks, Phase
from gorge_worker.engine.outage import Outage
from gorge_worker.engine.retries import Retries
from gorge_worker.engine.settling import Settling
from gorge_worker.engine.stats import Stats
from gorge_worker.model import Lease, Outcome, Verdict
from gorge_worker.queues.protocol import Receipt, ReportResult, TaskQueue

GATHERING = 0.002
"""Seconds that a fresh outcome waits before it is sent: the slot that it has freed is filled first, and a store that
commits groups gets more into one."""

_log = structlog.get_logger()


class Reporter:
    """Sends reports without holding a slot.

    Each report has its own backoff, so that one which the queue chokes on does not hold up the others; when none at
    all gets through, the queue is in an outage and is tried with one call at a time. Only what is settled is reported
    (see Renewals, whose `settle` it gets): a lease that stays in doubt counts as trouble with its report.
    """

    def __init__(
        self,
        *,
        queue: TaskQueue,
        held: HeldTasks,
        stats: Stats,
        clock: Clock,
        rng: random.Random,
        settle: Callable[[Sequence[Held]], Awaitable[None]],
    ) -> None:
        self._queue = queue
        self._held = held
        self._stats = stats
        self._clock = clock
        self._settling = Settling(settle, self._settled)
        self._outage = Outage(rng)
        self._ready: deque[Held] = deque()
        self._retries = Retries(rng, self._retry)
        self._calls: set[asyncio.Task[None]] = set()
        self._probe: asyncio.TimerHandle | None = None
        self._gathering: asyncio.TimerHandle | None = None
        self._unreported = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def unreported(self) -> int:
        """Outcomes that the queue has not taken yet."""
        return self._unreported

    async def empty(self) -> None:
        """Returns when every outcome has been accepted, refused, or given up with its lease."""
        await self._empty.wait()

    def submit(self, held: Held, outcome: Outcome) -> None:
        held.phase, held.outcome = Phase.REPORTING, outcome
        self._unreported += 1
        self._empty.clear()
        self._ready.append(held)
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(GATHERING, self._gathered)

    async def stop(self) -> None:
        """Gives up what is still unreported."""
        self._retries.take_all()
        for timer in (self._probe, self._gathering):
            if timer:
                timer.cancel()
        self._ready.clear()
        await self._settling.stop()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    def _send(self) -> None:
        """Starts as many calls as may be under way."""
        features = self._queue.features
        now = asyncio.get_running_loop().time()
        while self._ready and len(self._calls) < self._outage.calls_allowed(now, features.report_concurrency):
            if batch := self._next_batch(features.report_batch):
                call = asyncio.create_task(self._call(batch))
                self._calls.add(call)
                call.add_done_callback(self._called)
        if self._ready and not self._calls and self._probe is None:
            loop = asyncio.get_running_loop()
            self._probe = loop.call_later(self._outage.wait(now), self._time_to_probe)

    def _next_batch(self, most: int) -> list[Held]:
        batch: list[Held] = []
        while self._ready and len(batch) < most:
            held = self._ready.popleft()
            if held.is_settled:
                batch.append(held)
            else:
                self._settling.add(held)
        return batch

    def _settled(self, batch: Sequence[Held]) -> None:
        for held in batch:
            if self._is_over(held):
                continue
            if held.is_settled:
                self._ready.append(held)
            else:
                self._again(held, ReportResult(Receipt.TROUBLE, "it is not known whether the lease was renewed"))
        self._send()

    def _gathered(self) -> None:
        self._gathering = None
        self._send()

    def _time_to_probe(self) -> None:
        self._probe = None
        self._send()

    def _called(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        if not call.cancelled() and (error := call.exception()):
            _log.error("the engine failed", exc_info=error)
        self._send()

    async def _call(self, batch: list[Held]) -> None:
        live = [held for held in batch if not self._is_over(held)]
        if not live:
            return
        reports = [held.report for held in live]
        results = await self._queue.report(reports)
        for held, report, result in zip(live, reports, results, strict=True):
            self._take(held, report.lease, result)

    def _take(self, held: Held, lease: Lease, result: ReportResult) -> None:
        if result.receipt is Receipt.TROUBLE:
            self._again(held, result)
            return
        if self._outage.over():
            self._ready.extend(self._retries.take_all())
        if result.receipt is Receipt.ACCEPTED:
            self._accepted(held)
        elif result.receipt is not Receipt.LEASE_LOST:
            self._refused(held, result.reason)
        elif held.lease is lease:
            self._give_up(held, result.reason)
        else:  # handed out to this worker again while the report was under way
            self._ready.append(held)

    def _again(self, held: Held, result: ReportResult) -> None:
        self._outage.trouble(asyncio.get_running_loop().time(), result.reason, result.retry_after)
        self._retries.later(held, result.retry_after or 0.0)

    def _retry(self, held: Held) -> None:
        self._ready.append(held)
        self._send()

    def _accepted(self, held: Held) -> None:
        if held.outcome is not None and held.outcome.verdict is Verdict.SUCCESS:
            self._stats.processed += 1
        self._done(held)

    def _refused(self, held: Held, reason: str) -> None:
        task = held.lease.task
        _log.error("the queue refused a report", task=task.id, task_class=task.task_class, reason=reason)
        if held.outcome is None or held.outcome.verdict is not Verdict.SUCCESS:
            self._done(held)
            return
        # The work is done and its success will never be taken: left alone, it would be executed again for ever.
        self._stats.failed += 1
        held.outcome = Outcome.permanent_failure(f"the queue refused the success: {reason}")
        held.tries = 0
        self._ready.append(held)

    def _is_over(self, held: Held) -> bool:
        """Gives an outcome up whose lease is gone."""
        if held.is_lost:
            self._give_up(held, held.loss)
            return True
        if held.lease.ends_at <= self._clock.boottime():
            self._give_up(held, "the lease ended before the queue took the report")
            return True
        return False

    def _give_up(self, held: Held, reason: str) -> None:
        task = held.lease.task
        outcome = str(held.outcome.verdict) if held.outcome else ""
        _log.warning("outcome not reported", task=task.id, task_class=task.task_class, outcome=outcome, reason=reason)
        self._done(held)

    def _done(self, held: Held) -> None:
        self._held.let_go(held)
        self._unreported -= 1
        if not self._unreported:
            self._empty.set()
