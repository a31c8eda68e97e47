"""A queue in memory behind the engine's queue protocol, and handlers to go with it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.worker import Worker
from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Lease, Outcome, Task, Verdict
from gorge_worker.queues.protocol import Features, Leased, LeaseRequest, Receipt, Renewal, Report, ReportResult
from gorge_worker.registry import Registry
from support.virtual_time import VirtualClock

CLASS = "ExampleWorker"


class MemoryQueue:
    """Hands out what is available, keeps waits, and records every call with its time.

    `down` makes every call fail; `answers` are receipts to give instead of taking a report, by task id. The next
    `renewals_to_hang` renewals never return; each takes `renew_takes` seconds, and of its leases a share of
    `lose_renewals` gets no answer. What must never come is kept: reports `late`, after the lease's end, and `stale`,
    under an expiry that a renewal has changed.
    """

    def __init__(self, clock: Clock, features: Features | None = None, lease_seconds: float = 7200.0) -> None:
        self.features = features or Features()
        self.clock = clock
        self.lease_seconds = lease_seconds
        self.down = False
        self.available_at: dict[int, float] = {}
        self.tasks: dict[int, Task] = {}
        self.requests: list[tuple[float, LeaseRequest]] = []
        self.report_tries: list[tuple[float, Report]] = []
        self.accepted: list[Report] = []
        self.answers: dict[int, list[ReportResult]] = {}
        self.scripted_leases: list[Leased] = []
        self.rests = 0
        self.stale: list[Report] = []
        self.late: list[Report] = []
        self.calls = 0
        self.leased: dict[int, Lease] = {}
        self.doubts: dict[int, tuple[str, int]] = {}
        self.renewals: list[tuple[float, list[Lease]]] = []
        self.renewals_to_hang = 0.0
        self.renew_takes = 0.0
        self.lose_renewals = 0.0
        self.rng = random.Random(1)
        self.gave_back = False
        self._added = asyncio.Event()

    def add(self, task_class: str = CLASS, **fields: object) -> int:
        task = Task(id=len(self.tasks) + 1, task_class=task_class, **fields)  # type: ignore[arg-type]
        self.tasks[task.id] = task
        self.available_at[task.id] = 0.0
        self._added.set()
        return task.id

    def lease_of(self, task_id: int, owner: str = "owner", seconds: float | None = None) -> Lease:
        length = self.lease_seconds if seconds is None else seconds
        expires = int(self.clock.wall() + length)
        ends_at = self.clock.boottime() + length
        return Lease(task=self.tasks[task_id], owner=owner, expires=expires, ends_at=ends_at)

    async def lease(self, request: LeaseRequest) -> Leased:
        self.requests.append((self.clock.boottime(), request))
        await asyncio.sleep(0)
        if self.down:
            raise QueueTrouble("the queue is down")
        if self.scripted_leases:
            return self.scripted_leases.pop(0)
        end = self.clock.boottime() + request.wait
        while not (got := self._take(request)) and self.clock.boottime() < end:
            self._added.clear()
            try:
                await asyncio.wait_for(self._added.wait(), end - self.clock.boottime())
            except TimeoutError:
                break
        return Leased(leases=got)

    def _take(self, request: LeaseRequest) -> list[Lease]:
        now = self.clock.boottime()
        wanted = request.classes
        ids = [one for one, at in self.available_at.items() if at <= now and wanted.wants(self.tasks[one].task_class)][
            : request.limit
        ]
        self.calls += 1
        leases = [self.lease_of(one, f"owner-{self.calls}") for one in ids]
        for lease in leases:
            self._hold(lease)
        return leases

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        await asyncio.sleep(0)
        return [self._report(report) for report in reports]

    def _report(self, report: Report) -> ReportResult:
        now, task_id = self.clock.boottime(), report.lease.task.id
        self.report_tries.append((now, report))
        if self.down:
            return ReportResult(Receipt.TROUBLE, "the queue is down")
        if self.answers.get(task_id):
            return self.answers[task_id].pop(0)
        if self.features.renews:
            current = self.leased.get(task_id)
            if current is None or current.owner != report.lease.owner:
                return ReportResult(Receipt.LEASE_LOST, "not your lease")
            if current.expires != report.lease.expires:
                self.stale.append(report)
                return ReportResult(Receipt.LEASE_LOST, "the lease was renewed")
            if current.ends_at <= now:
                self.late.append(report)
                return ReportResult(Receipt.LEASE_LOST, "the lease has ended")
            del self.leased[task_id]
        self.accepted.append(report)
        if report.outcome.verdict in (Verdict.SUCCESS, Verdict.PERMANENT_FAILURE):
            self.available_at.pop(task_id, None)
        else:
            failed = report.outcome.verdict is Verdict.TEMPORARY_FAILURE
            own_wait = 300 if failed else 0
            self.available_at[task_id] = now + (own_wait if report.outcome.wait is None else report.outcome.wait)
        return ReportResult(Receipt.ACCEPTED)

    def verdicts(self, task_id: int) -> list[str]:
        return [str(one.outcome.verdict) for one in self.accepted if one.lease.task.id == task_id]

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        self.renewals.append((self.clock.boottime(), list(leases)))
        if self.renewals_to_hang:
            self.renewals_to_hang -= 1
            await asyncio.Event().wait()
        await asyncio.sleep(self.renew_takes)
        return [self._renew(lease) for lease in leases]

    def _renew(self, lease: Lease) -> Renewal:
        """A renewal whose answer is lost has taken effect all the same, every second time."""
        task_id = lease.task.id
        current = self.leased.get(task_id)
        if self.down:
            return Renewal(Receipt.TROUBLE, reason="the queue is down")
        known = {(lease.owner, lease.expires), self.doubts.get(task_id)}
        if current is None or (current.owner, current.expires) not in known or current.ends_at <= self.clock.boottime():
            return Renewal(Receipt.LEASE_LOST, reason="somebody has taken it away")
        renewed = msgspec.structs.replace(
            current,
            expires=int(self.clock.wall() + self.lease_seconds),
            ends_at=self.clock.boottime() + self.lease_seconds,
        )
        if self.lose_renewals and self.rng.random() < self.lose_renewals:
            if self.rng.random() < 0.5:
                self._hold(renewed)
                self.doubts[task_id] = (renewed.owner, renewed.expires)
            return Renewal(Receipt.TROUBLE, reason="the answer was lost")
        self._hold(renewed)
        self.doubts.pop(task_id, None)
        return Renewal(Receipt.ACCEPTED, renewed)

    def _hold(self, lease: Lease) -> None:
        self.leased[lease.task.id] = lease
        self.available_at[lease.task.id] = lease.ends_at

    def script(self, *ids: int) -> None:
        """The next call leases these, however many it asks for."""
        leases = [self.lease_of(one) for one in ids]
        for lease in leases:
            self._hold(lease)
        self.scripted_leases.append(Leased(leases=leases))

    def take_away(self, task_id: int) -> None:
        """An operator frees the lease."""
        self.leased.pop(task_id, None)

    async def rest(self) -> None:
        self.rests += 1

    async def give_back(self) -> None:
        self.gave_back = True

    async def close(self) -> None:
        return


class FakeHandler:
    """Executes with a coroutine function; counts who runs at the same time."""

    def __init__(
        self,
        execute: Callable[[Lease], Awaitable[Outcome]] | None = None,
        *,
        backend: str | None = None,
        timeout: float | None = None,
        stops_when_cancelled: bool = True,
    ) -> None:
        self.backend, self.timeout, self.stops_when_cancelled = backend, timeout, stops_when_cancelled
        self._execute = execute
        self.waiting = 0
        self.executed: list[int] = []
        self.running: list[int] = []
        self.peak = 0
        self.last = 0.0
        self.overlaps: list[int] = []
        self.leases: list[tuple[int, str]] = []

    def retry_wait(self, _task: Task) -> int:
        return 30

    async def execute(self, lease: Lease) -> Outcome:
        task_id = lease.task.id
        self.executed.append(task_id)
        self.leases.append((task_id, lease.owner))
        if task_id in self.running:
            self.overlaps.append(task_id)
        self.running.append(task_id)
        self.last = asyncio.get_running_loop().time()
        self.peak = max(self.peak, len(self.running))
        try:
            return await self._execute(lease) if self._execute else Outcome.success()
        finally:
            self.running.remove(task_id)


class Bench:
    """A worker on a MemoryQueue in virtual time: `async with Bench(handler) as bench`."""

    def __init__(
        self,
        handlers: FakeHandler | dict[str, FakeHandler] | None = None,
        *,
        features: Features | None = None,
        lease_seconds: float = 7200.0,
        **options: float,
    ) -> None:
        self.handlers = handlers if isinstance(handlers, dict) else {CLASS: handlers or FakeHandler()}
        self.options = EngineOptions(**options)  # type: ignore[arg-type]
        self.clock = VirtualClock()
        self._features, self._lease_seconds = features, lease_seconds

    async def __aenter__(self) -> Self:
        self.queue = MemoryQueue(self.clock, self._features, self._lease_seconds)
        registry = Registry()
        for name, handler in self.handlers.items():
            registry.register(name, handler)
        self.worker = Worker(
            queue=self.queue,
            registry=registry,
            options=self.options,
            clock=self.clock,
            rng=random.Random(1),
            hide_secrets=lambda text: text.replace("hunter2", "***"),
        )
        self.run: asyncio.Task[bool] | None = None
        return self

    def start(self) -> None:
        self.run = asyncio.create_task(self.worker.run())

    async def drained(self) -> bool:
        assert self.run is not None
        self.worker.drain()
        return await self.run

    async def __aexit__(self, *failure: object) -> None:
        if self.run is not None and not self.run.done():
            self.worker.cut()
            await self.run
