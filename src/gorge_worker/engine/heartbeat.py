"""When leases are checked and renewed, and when they end: one asyncio task for all that is held."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from gorge_worker.clock import Clock
from gorge_worker.engine.held import Held, HeldTasks, Phase
from gorge_worker.engine.renewing import SHARE, Renewals
from gorge_worker.queues.protocol import TaskQueue

SHORTEST_INTERVAL, LONGEST_INTERVAL = 10.0, 15.0
"""Seconds between two heartbeats, drawn anew each time so that many workers do not beat in step."""
FRESH = 3.0
"""Seconds for which a lease that was just given or renewed is left to the next heartbeat. With LONGEST_INTERVAL, one
call without an answer and the pause after it, a task that was taken away is still noticed within 30 s.
"""
LOOK = 1.0
"""Seconds between two looks at the ends of leases: their clock goes on while a machine is suspended, timers do not."""
FIRST_PAUSE = 1.0
GROWTH = 2.0
SHORTEST_WAIT = 0.25
"""Seconds between two heartbeats at the least, however short the leases are."""


class Heartbeat:
    """Renews what waits or runs where the queue can (Features.renews), and sees to it that no lease is counted on past
    its end, whether it can be renewed or not.

    `lose` is told of each task whose lease has ended, and why: it ends the execution, and nothing is reported.
    """

    def __init__(
        self,
        *,
        queue: TaskQueue,
        renewals: Renewals,
        held: HeldTasks,
        clock: Clock,
        rng: random.Random,
        lose: Callable[[Held, str], None],
    ) -> None:
        self._queue = queue
        self._renewals = renewals
        self._held = held
        self._clock = clock
        self._rng = rng
        self._lose = lose
        self._beat: asyncio.Task[bool] | None = None
        self._counted_from = 0.0
        self._wait = 0.0
        self._pause = 0.0

    async def run(self) -> None:
        """Beats until it is cancelled; costs nothing while nothing is held."""
        try:
            while True:
                await self._held.some.wait()
                now = self._clock.boottime()
                if self._beat is not None and self._beat.done():
                    self._conclude(self._beat, now)
                self._end_overdue(now)
                watched = self._watched()
                if self._beat is None and self._queue.features.renews and self._due_at(watched) <= now:
                    self._begin(watched, now)
                await self._until_next_look(watched, now)
        finally:
            if self._beat is not None:
                self._beat.cancel()
                await asyncio.wait([self._beat])

    def _watched(self) -> list[Held]:
        return [one for one in self._held if one.phase is not Phase.REPORTING and not one.is_lost]

    def _end_overdue(self, now: float) -> None:
        for one in self._watched():
            if one.lease.ends_at <= now:
                self._lose(one, "the lease has ended")

    def _due_at(self, watched: Sequence[Held]) -> float:
        shortest = min((one.length for one in watched), default=LONGEST_INTERVAL)
        return self._counted_from + min(self._wait, max(shortest * SHARE, SHORTEST_WAIT))

    def _begin(self, watched: Sequence[Held], now: float) -> None:
        self._counted_from, self._wait = now, self._rng.uniform(SHORTEST_INTERVAL, LONGEST_INTERVAL)
        if due := [one for one in watched if now - one.checked_at >= min(FRESH, one.length * SHARE / 2)]:
            self._beat = asyncio.create_task(self._renewals.renew(due), name="heartbeat")

    def _conclude(self, beat: asyncio.Task[bool], now: float) -> None:
        self._beat = None
        if beat.result():
            self._pause = 0.0
            return
        self._pause = min(max(FIRST_PAUSE, self._pause * GROWTH), SHORTEST_INTERVAL)
        self._counted_from, self._wait = now, self._pause

    async def _until_next_look(self, watched: Sequence[Held], now: float) -> None:
        seconds = min([LOOK, *(one.lease.ends_at - now for one in watched)])
        if self._beat is not None:
            await asyncio.wait([self._beat], timeout=seconds)
            return
        if self._queue.features.renews:
            seconds = min(seconds, self._due_at(watched) - now)
        await asyncio.sleep(seconds)
