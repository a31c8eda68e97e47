"""Taking tasks from the queue as slots become free."""

from __future__ import annotations

import asyncio
import contextlib
import random

import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine.backends import Backends
from gorge_worker.engine.held import HeldTasks
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.pace import Pace
from gorge_worker.engine.reporting import Reporter
from gorge_worker.engine.slots import Slots
from gorge_worker.engine.stats import Stats
from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Outcome
from gorge_worker.queues.protocol import ClassFilter, Leased, LeaseRequest, TaskQueue, Unusable

ANSWER_GRACE = 2.0
"""Seconds that a lease call under way at a shutdown gets to bring its answer."""

_log = structlog.get_logger()


class Leasing:
    """One lease call after another for as long as there are free slots; pauses only when the queue has nothing."""

    def __init__(
        self,
        *,
        queue: TaskQueue,
        options: EngineOptions,
        backends: Backends,
        held: HeldTasks,
        slots: Slots,
        reporter: Reporter,
        stats: Stats,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._queue = queue
        self._options = options
        self._backends = backends
        self._held = held
        self._slots = slots
        self._reporter = reporter
        self._stats = stats
        self._clock = clock
        self._pace = Pace(options, rng, asyncio.get_running_loop().time())
        self._room = asyncio.Event()
        self._wake = asyncio.Event()
        self._call: asyncio.Task[Leased] | None = None
        self._in_trouble = False
        self._resting = False
        self._stopping = False

    def look_for_room(self, *, expect_work: bool) -> None:
        """Something has ended. With `expect_work` the queue has just got new tasks: pauses end at once."""
        self._room.set()
        if expect_work:
            self.wake()

    def wake(self) -> None:
        """Ends a pause, hibernation included: there is reason to expect work."""
        self._pace.worked(asyncio.get_running_loop().time())
        self._wake.set()

    async def run(self) -> None:
        """Leases until `stop` is called."""
        while await self._until_room():
            if pause := await self._once():
                await self._sleep(pause)

    async def stop(self) -> None:
        """Leases no more. An answer under way is waited for a moment, so that its tasks can be given back; a call
        that only waits for work to come is dropped at once.
        """
        self._stopping = True
        self._room.set()
        self._wake.set()
        if self._call and not self._call.done():
            await asyncio.wait([self._call], timeout=0 if self._queue.features.long_poll else ANSWER_GRACE)
            self._call.cancel()

    async def _until_room(self) -> bool:
        """Returns when there is something to ask for; False when leasing is over."""
        while not self._stopping:
            # One look at the clock for both decisions: between two looks a pause may end.
            pause = self._backends.wait(asyncio.get_running_loop().time())
            if pause <= 0 and self._wanted() > 0 and not self._can_wait():
                return True
            self._room.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._room.wait(), pause or None)
        return False

    def _can_wait(self) -> bool:
        """While more tasks wait here for their turn than could be leased nobody is idle, and one larger lease costs the
        queue less than several small ones.
        """
        return self._backends.waiting > self._slots.free

    def _wanted(self) -> int:
        """How many tasks there is room for, backends permitting."""
        if self._reporter.unreported >= self._options.most_unreported:
            return 0
        most = 1 if self._backends.only_probes() else self._options.lease_limit
        return min(most, self._slots.free)

    async def _once(self) -> float:
        """One lease call; returns how many seconds to wait before the next."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        # A call that leaves out a paused backend's classes must not wait beyond its pause.
        wait = min(self._queue.features.long_poll, self._backends.until_more(began))
        self._call = asyncio.create_task(self._queue.lease(self._request(wait)))
        try:
            leased = await self._call
        except QueueTrouble as trouble:
            self._tell_trouble(trouble)
            return self._pace.trouble(trouble.retry_after)
        except asyncio.CancelledError:
            if self._stopping and self._call.cancelled():
                return 0.0
            raise
        if self._in_trouble:
            self._in_trouble = False
            _log.info("the queue answers again")
        if self._admit(leased):
            self._pace.worked(loop.time())
            self._resting = False
            return 0.0
        if wait and loop.time() - began >= wait / 2:
            return 0.0  # the queue has done the waiting
        return await self._pause()

    def _request(self, wait: float) -> LeaseRequest:
        wanted, features = self._backends.lease_filter(asyncio.get_running_loop().time()), self._queue.features
        classes = ClassFilter(
            only=wanted.only if features.class_filter else (),
            without=wanted.without if features.class_exclusion else (),
        )
        return LeaseRequest(limit=self._wanted(), classes=classes, wait=wait)

    def _admit(self, leased: Leased) -> bool:
        """Passes on what was leased; False when there was nothing in it for this worker."""
        useful = bool(leased.unusable)
        for unusable in leased.unusable:
            self._fail(unusable)
        for lease in leased.leases:
            if held := self._held.take(lease, self._clock.boottime()):
                useful = self._slots.submit(held) or useful
        return useful

    def _fail(self, unusable: Unusable) -> None:
        if held := self._held.take(unusable.lease, self._clock.boottime()):
            task = unusable.lease.task
            _log.error("task can't be read, it fails for good", task=task.id, reason=unusable.reason)
            self._stats.failed += 1
            self._reporter.submit(held, Outcome.permanent_failure(unusable.reason))

    async def _pause(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._pace.hibernates(now) and not self._resting and not self._held:
            self._resting = True
            _log.info("hibernating, the queue has been empty for long", seconds=self._options.idle_timeout)
            await self._queue.rest()
        return self._pace.empty(now)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        if not self._stopping:
            self._wake.clear()

    def _tell_trouble(self, trouble: QueueTrouble) -> None:
        level = "debug" if self._in_trouble else "warning"
        self._in_trouble = True
        getattr(_log, level)("no lease, the queue is asked again", reason=str(trouble))
