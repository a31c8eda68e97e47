"""Renewing leases: one call for many, what comes of it, and what a report has to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from gorge_worker.clock import Clock
from gorge_worker.engine.held import Held, HeldTasks
from gorge_worker.model import Lease
from gorge_worker.queues.protocol import Receipt, Renewal, TaskQueue

ANSWER_LIMIT = 10.0
"""Seconds that the queue may take for its answer."""
SHARE = 1 / 3
"""Of a lease's length: the longest that a heartbeat or an answer to it may take, so that there is time for another."""

_log = structlog.get_logger()


class Renewals:
    """Renews leases, and finds out how those stand whose renewal got no answer.

    A renewal changes the lease's expiry, which is a part of every report. So nothing is reported under a lease that is
    not settled (`Held.is_settled`): `settle` comes first. `lose` is told of each task whose lease the queue calls lost.
    """

    def __init__(self, queue: TaskQueue, held: HeldTasks, clock: Clock, lose: Callable[[Held, str], None]) -> None:
        self._queue = queue
        self._held = held
        self._clock = clock
        self._lose = lose
        self._in_trouble = False

    async def settle(self, batch: Sequence[Held]) -> None:
        """Waits for renewals under way, then renews what is in doubt: it is settled after that, lost, or still in
        doubt because the queue is in trouble.
        """
        if under_way := {one.renewing for one in batch if one.renewing}:
            await asyncio.wait(under_way)
        now = self._clock.boottime()
        if doubted := [one for one in batch if one.in_doubt and not one.is_lost and one.lease.ends_at > now]:
            await self.renew(doubted)

    async def renew(self, batch: Sequence[Held]) -> bool:
        """One call for all of the batch; False when some of it got no usable answer, and is in doubt now."""
        asked_at = self._clock.boottime()
        leases = [one.lease for one in batch]
        applied = asyncio.get_running_loop().create_future()
        for one in batch:
            one.renewing = applied
        renewals = _troubles(leases, "the call was broken off")
        try:
            renewals = await self._ask(leases, min(ANSWER_LIMIT, SHARE * max(one.length for one in batch)))
        finally:
            applied.set_result(None)  # whoever waits for it goes on after this block
            for one, lease, renewal in zip(batch, leases, renewals, strict=True):
                one.renewing = None
                self._apply(one, lease, renewal, asked_at)
        troubles = [one for one in renewals if one.receipt not in (Receipt.ACCEPTED, Receipt.LEASE_LOST)]
        self._tell(troubles)
        return not troubles

    async def _ask(self, leases: Sequence[Lease], seconds: float) -> list[Renewal]:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._queue.renew(leases)
        except Exception as error:  # noqa: BLE001 (logged below)
            if limit.expired():
                return _troubles(leases, f"no answer within {seconds:g} s")
            # A fault of the adapter's: it must cost no more than trouble of the queue does.
            _log.error("the engine failed", exc_info=error)
            return _troubles(leases, f"the adapter failed: {type(error).__name__}")

    def _apply(self, held: Held, lease: Lease, renewal: Renewal, asked_at: float) -> None:
        if held.lease is not lease or held.is_lost or held not in self._held:
            return  # handed out to this worker again, or given up in the meantime
        if renewal.receipt is Receipt.ACCEPTED and renewal.lease is not None:
            held.renewed(renewal.lease, asked_at)
        elif renewal.receipt is Receipt.LEASE_LOST:
            self._lose(held, renewal.reason)
        else:
            held.in_doubt = True

    def _tell(self, troubles: Sequence[Renewal]) -> None:
        """One line at the beginning of trouble, one at its end."""
        if troubles and not self._in_trouble:
            reason = troubles[0].reason
            _log.warning(
                "leases can't be renewed, it is tried again until they end", leases=len(troubles), reason=reason
            )
        elif self._in_trouble and not troubles:
            _log.info("the queue renews leases again")
        self._in_trouble = bool(troubles)


def _troubles(leases: Sequence[Lease], reason: str) -> list[Renewal]:
    return [Renewal(Receipt.TROUBLE, reason=reason)] * len(leases)
