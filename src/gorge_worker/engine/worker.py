"""The engine as a whole: put together, run, and ended in good order."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable

import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine.backends import Backends
from gorge_worker.engine.heartbeat import Heartbeat
from gorge_worker.engine.held import Held, HeldTasks
from gorge_worker.engine.leasing import Leasing
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.renewing import Renewals
from gorge_worker.engine.reporting import Reporter
from gorge_worker.engine.slots import Slots
from gorge_worker.engine.stats import Stats
from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Task
from gorge_worker.queues.protocol import TaskQueue
from gorge_worker.registry import Registry

LAST_REPORTS = 2.0
"""Seconds for the reports of what was cut at the end of a drain."""
GIVE_BACK_TIME = 5.0
"""Seconds, from the start of a drain, for giving back what may be leased without this worker's knowing."""

_log = structlog.get_logger()


class Worker:
    """Executes a queue's tasks. Must be made and used within one event loop.

    `hide_secrets` masks the process's secrets in the reasons that are reported to the queue.
    """

    def __init__(
        self,
        *,
        queue: TaskQueue,
        registry: Registry,
        options: EngineOptions,
        clock: Clock,
        rng: random.Random,
        hide_secrets: Callable[[str], str],
    ) -> None:
        self._queue = queue
        self._options = options
        self.stats = Stats()
        held, backends = HeldTasks(), Backends(registry, rng)
        self._held = held
        renewals = Renewals(queue, held, clock, self._lose)
        self._heartbeat = Heartbeat(queue=queue, renewals=renewals, held=held, clock=clock, rng=rng, lose=self._lose)
        self._reporter = Reporter(
            queue=queue, held=held, stats=self.stats, clock=clock, rng=rng, settle=renewals.settle
        )
        self._slots = Slots(
            options=options,
            registry=registry,
            backends=backends,
            held=held,
            reporter=self._reporter,
            stats=self.stats,
            clock=clock,
            hide_secrets=hide_secrets,
            renews=lambda: queue.features.renews,
            on_free=self._look_for_room,
        )
        self._leasing = Leasing(
            queue=queue,
            options=options,
            backends=backends,
            held=held,
            slots=self._slots,
            reporter=self._reporter,
            stats=self.stats,
            clock=clock,
            rng=rng,
        )
        self._drain = asyncio.Event()
        self._cut = asyncio.Event()

    def _look_for_room(self, expect_work: bool) -> None:  # noqa: FBT001 (a callback's parameter)
        self._leasing.look_for_room(expect_work=expect_work)

    def _lose(self, held: Held, reason: str) -> None:
        self._slots.lose(held, reason)

    def drain(self) -> None:
        """Ends the run in good order: nothing new is leased, running tasks may finish within the drain timeout."""
        self._drain.set()

    def cut(self) -> None:
        """Ends the run now: running tasks are cancelled."""
        self._drain.set()
        self._cut.set()

    async def run(self) -> bool:
        """Works until `drain` or `cut` is called; True when nothing had to be cut and every outcome is reported.

        An error of the engine's own ends it in good order too, and is raised then.
        """
        leasing = asyncio.create_task(self._leasing.run(), name="leasing")
        heartbeat = asyncio.create_task(self._heartbeat.run(), name="heartbeats")
        asked_to_drain = asyncio.create_task(self._drain.wait())
        await asyncio.wait([leasing, heartbeat, asked_to_drain], return_when=asyncio.FIRST_COMPLETED)
        asked_to_drain.cancel()
        clean = await self._end(leasing)
        heartbeat.cancel()
        await asyncio.wait([heartbeat])
        leasing.result()
        if not heartbeat.cancelled():
            heartbeat.result()
        return clean

    async def _end(self, leasing: asyncio.Task[None]) -> bool:
        _log.info("draining", running=self.stats.active, unreported=self._reporter.unreported)
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._slots.drain()
        giving_back = asyncio.create_task(self._stop_leasing(leasing), name="giving back")
        finishing = asyncio.create_task(self._finish(), name="finishing")
        asked_to_cut = asyncio.create_task(self._cut.wait())
        await asyncio.wait(
            [finishing, asked_to_cut], timeout=self._options.drain_timeout, return_when=asyncio.FIRST_COMPLETED
        )
        asked_to_cut.cancel()
        cut = [] if finishing.done() else await self._slots.cut()
        finishing.cancel()
        await asyncio.wait([giving_back], timeout=max(0.0, began + GIVE_BACK_TIME - loop.time()))
        giving_back.cancel()
        with contextlib.suppress(TimeoutError):  # what is left then is named below
            await asyncio.wait_for(self._reporter.empty(), LAST_REPORTS)
        await self._reporter.stop()
        return self._told_all(cut)

    def _told_all(self, cut: list[Task]) -> bool:
        for task in cut:
            _log.error("task cut by the shutdown", task=task.id, task_class=task.task_class)
        unreported = [held.lease.task for held in self._held]
        for task in unreported:
            _log.error("task not reported, its lease has to run out", task=task.id, task_class=task.task_class)
        return not cut and not unreported

    async def _finish(self) -> None:
        await self._slots.idle()
        await self._reporter.empty()

    async def _stop_leasing(self, leasing: asyncio.Task[None]) -> None:
        await self._leasing.stop()
        await asyncio.wait([leasing])
        try:
            await self._queue.give_back()
        except QueueTrouble as trouble:
            _log.warning("can't look for tasks leased unawares, their leases have to run out", reason=str(trouble))
