"""Checking and renewing the leases of all that is being executed: one call for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence

import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine.held import Held, HeldTasks, Phase
from gorge_worker.model import Lease
from gorge_worker.queues.protocol import Receipt, Renewal, TaskQueue

SHORTEST_INTERVAL, LONGEST_INTERVAL = 10.0, 15.0
"""Seconds between two heartbeats, drawn anew each time so that many workers do not beat in step."""
SHARE = 1 / 3
"""Of a lease's length: short leases make heartbeats quicker."""
FRESH = 5.0
"""Seconds for which a lease that was just given or renewed is left alone: it is checked with the next heartbeat, less
than 30 s after it was last known to hold."""
LOOK = 1.0
"""Seconds between two looks at the ends of leases. The clock that counts them goes on while a machine is suspended,
and timers do not."""
ANSWER_LIMIT = 20.0
"""Seconds that the queue may take for its answer."""
FIRST_PAUSE = 1.0
GROWTH = 2.0

_log = structlog.get_logger()


class Heartbeat:
    """Renews leases where the queue can (Features.renews), and sees to it that none is counted on past its end.

    `lose` is told of each task whose lease is lost, and why: it ends the execution, and nothing is reported.
    """

    def __init__(
        self, queue: TaskQueue, held: HeldTasks, clock: Clock, rng: random.Random, lose: Callable[[Held, str], None]
    ) -> None:
        self._queue = queue
        self._held = held
        self._clock = clock
        self._rng = rng
        self._lose = lose
        self._beat: asyncio.Task[None] | None = None
        self._next = 0.0
        self._pause = 0.0

    async def run(self) -> None:
        """Beats until it is cancelled; costs nothing while nothing is held."""
        try:
            while True:
                await self._held.some.wait()
                now = self._clock.boottime()
                self._end_overdue(now)
                if now >= self._next and self._beat is None and self._queue.features.renews:
                    self._start()
                await asyncio.sleep(self._until_look(now))
        finally:
            if self._beat is not None:
                self._beat.cancel()

    async def settle(self, held: Sequence[Held]) -> None:
        """Returns when it is known how the leases stand, or can't be known now (`Held.in_doubt`).

        A renewal changes what a report must say, so that nothing is reported while one is under way or unanswered.
        """
        if self._beat is not None and any(one.renewing for one in held):
            await asyncio.wait([self._beat])
        if doubted := [one for one in held if one.in_doubt]:
            await self._renew(doubted)

    def _start(self) -> None:
        due = [one for one in self._held if one.phase is not Phase.REPORTING and not one.is_lost]
        due = [one for one in due if one.in_doubt or self._clock.boottime() - one.checked_at >= self._freshness(one)]
        self._next = self._clock.boottime() + self._interval()
        if due:
            self._beat = asyncio.create_task(self._renew(due), name="heartbeat")
            self._beat.add_done_callback(self._ended)

    def _ended(self, beat: asyncio.Task[None]) -> None:
        self._beat = None
        if not beat.cancelled() and (error := beat.exception()):
            _log.error("the engine failed", exc_info=error)

    def _interval(self) -> float:
        shortest = min((one.lease.ends_at - one.checked_at for one in self._held), default=LONGEST_INTERVAL)
        return min(self._rng.uniform(SHORTEST_INTERVAL, LONGEST_INTERVAL), max(shortest * SHARE, 0.0))

    def _freshness(self, held: Held) -> float:
        return min(FRESH, (held.lease.ends_at - held.checked_at) * SHARE / 2)

    def _until_look(self, now: float) -> float:
        ends = min((one.lease.ends_at for one in self._held if one.phase is not Phase.REPORTING), default=now + LOOK)
        return max(min(LOOK, ends - now, self._next - now if self._next > now else LOOK), 0.0)

    def _end_overdue(self, now: float) -> None:
        for one in self._held:
            if one.phase is not Phase.REPORTING and not one.is_lost and one.lease.ends_at <= now:
                self._lose(one, "the lease has ended")

    async def _renew(self, batch: Sequence[Held]) -> None:
        asked_at = self._clock.boottime()
        leases = [one.lease for one in batch]
        for one in batch:
            one.renewing = True
        renewals = [Renewal(Receipt.TROUBLE, reason="the call was broken off")] * len(batch)
        try:
            renewals = await self._ask(leases)
        finally:
            for one, lease, renewal in zip(batch, leases, renewals, strict=True):
                one.renewing = False
                self._apply(one, lease, renewal, asked_at)
        self._tell([renewal for renewal in renewals if renewal.receipt not in (Receipt.ACCEPTED, Receipt.LEASE_LOST)])

    async def _ask(self, leases: Sequence[Lease]) -> list[Renewal]:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_LIMIT):
                return await self._queue.renew(leases)
        return [Renewal(Receipt.TROUBLE, reason=f"no answer within {ANSWER_LIMIT:g} s")] * len(leases)

    def _apply(self, held: Held, lease: Lease, renewal: Renewal, asked_at: float) -> None:
        if held.lease is not lease:  # handed out to this worker again in the meantime
            return
        if renewal.receipt is Receipt.ACCEPTED and renewal.lease is not None:
            held.renewed(renewal.lease, asked_at)
        elif renewal.receipt is Receipt.LEASE_LOST:
            self._lose(held, renewal.reason)
        else:
            held.in_doubt = True

    def _tell(self, troubles: Sequence[Renewal]) -> None:
        """One line at the beginning of trouble, one at its end."""
        if not troubles:
            if self._pause:
                _log.info("the queue renews leases again")
            self._pause = 0.0
            return
        if not self._pause:
            _log.warning(
                "leases can't be renewed, it is tried again until they end",
                leases=len(troubles),
                reason=troubles[0].reason,
            )
        self._pause = min(max(FIRST_PAUSE, self._pause * GROWTH), SHORTEST_INTERVAL)
        self._next = min(self._next, self._clock.boottime() + self._pause)
