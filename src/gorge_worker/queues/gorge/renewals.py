"""Renewing leases of a generation 1 queue, one call for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpError, NotSent
from gorge_worker.model import Lease
from gorge_worker.queues.gorge.fences import FencedLease
from gorge_worker.queues.gorge.queue_time import Moment
from gorge_worker.queues.gorge.standing import Standing, look_up, read_standing
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Renewal

AT_ONCE = 16
"""Calls under way at the same time."""
LONGEST = 8.0
"""Seconds that the calls for all leases of a batch may take: a few that hang must not cost the others their answers, so
that this is less than the engine waits for the batch."""
SHARE = 0.25
"""Of what is left of the longest lease: the most that a batch may take of it, likewise."""
MOST_DOUBTS = 10_000
"""Leases remembered whose renewal got no answer; a worker holds no more."""


class Renewals:
    """Checks and renews. A lease whose renewal got no answer may have been renewed all the same: it is looked up before
    it is renewed again. `on_lost_touch` is told that there was no answer, or that the queue may know the call no more.
    """

    def __init__(self, wire: Wire, clock: Clock, on_lost_touch: Callable[[], None]) -> None:
        self._wire = wire
        self._clock = clock
        self._on_lost_touch = on_lost_touch
        self._in_doubt: dict[tuple[int, str], None] = {}
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        """One result for each lease, in order. Those that end first get their turn first, should time run out."""
        end = asyncio.get_running_loop().time() + self._seconds(leases)
        turns = sorted(range(len(leases)), key=lambda place: leases[place].ends_at)
        renewals = await asyncio.gather(*(self._renew(leases[place], end) for place in turns))
        # Not earlier: of what a batch that was broken off has come to, nobody has heard.
        for place, renewal in zip(turns, renewals, strict=True):
            if renewal.receipt is not Receipt.TROUBLE:
                self._in_doubt.pop(_key(leases[place]), None)
        in_order = dict(zip(turns, renewals, strict=True))
        return [in_order[place] for place in range(len(leases))]

    def _seconds(self, leases: Sequence[Lease]) -> float:
        left = max((lease.ends_at for lease in leases), default=0.0) - self._clock.boottime()
        return min(LONGEST, max(left * SHARE, 0.0))

    async def _renew(self, lease: Lease, end: float) -> Renewal:
        if not isinstance(lease, FencedLease):  # from the time when the queue spoke generation 0: it stands as it is
            return Renewal(Receipt.ACCEPTED, lease)
        try:
            async with asyncio.timeout_at(end), self._turn:
                if _key(lease) in self._in_doubt:
                    return _renewal(lease, await look_up(self._wire, self._clock, lease.fence))
                return await self._ask(lease)
        except TimeoutError:
            self._on_lost_touch()
            return Renewal(Receipt.TROUBLE, reason="the queue did not answer in time")

    async def _ask(self, lease: FencedLease) -> Renewal:
        asked, fence = Moment.now(self._clock), lease.fence
        self._doubt(lease)
        try:
            answer = await self._wire.post("renew", fence.body(duration=lease.generation.lease_duration))
        except NotSent as error:
            self._in_doubt.pop(_key(lease), None)
            self._on_lost_touch()
            return Renewal(Receipt.TROUBLE, reason=str(error))
        except HttpError as error:
            self._on_lost_touch()
            return Renewal(Receipt.TROUBLE, reason=str(error))
        if answer.status == HTTPStatus.NOT_FOUND:  # there is no such task, or no such call any more
            self._on_lost_touch()
            return _renewal(lease, await look_up(self._wire, self._clock, fence))
        return _renewal(lease, read_standing(fence, answer, asked))

    def _doubt(self, lease: FencedLease) -> None:
        self._in_doubt[_key(lease)] = None
        while len(self._in_doubt) > MOST_DOUBTS:
            del self._in_doubt[next(iter(self._in_doubt))]


def _key(lease: Lease) -> tuple[int, str]:
    return lease.task.id, lease.owner


def _renewal(lease: FencedLease, standing: Standing) -> Renewal:
    if standing.receipt is not Receipt.ACCEPTED:
        return Renewal(standing.receipt, reason=standing.reason)
    stands = msgspec.structs.replace(lease, expires=standing.expires, ends_at=standing.ends_at)
    return Renewal(Receipt.ACCEPTED, stands)
