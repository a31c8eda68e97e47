"""Renewing leases of a generation 1 queue, one call for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpAnswer, HttpError, NotSent
from gorge_worker.model import Lease
from gorge_worker.queues.gorge.envelope import UNREADABLE, Data
from gorge_worker.queues.gorge.fences import FencedLease
from gorge_worker.queues.gorge.queue_time import Moment, lease_end
from gorge_worker.queues.gorge.receipts import judge
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Renewal

AT_ONCE = 16
"""Calls under way at the same time."""
MOST_DOUBTS = 10_000
"""Leases remembered whose renewal got no answer; a worker holds no more."""


class _Row(msgspec.Struct, rename="camel"):
    lease_owner: str | None = None
    lease_expires: int | None = None


_row = msgspec.json.Decoder(Data[_Row])


class Renewals:
    """Checks and renews. A lease whose renewal got no answer may have been renewed all the same: it is looked up before
    it is renewed again.
    """

    def __init__(self, wire: Wire, clock: Clock) -> None:
        self._wire = wire
        self._clock = clock
        self._in_doubt: dict[tuple[int, str], None] = {}
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        return await asyncio.gather(*(self._renew(lease) for lease in leases))

    async def _renew(self, lease: Lease) -> Renewal:
        if not isinstance(lease, FencedLease):  # from the time when the queue spoke generation 0: it stands as it is
            return Renewal(Receipt.ACCEPTED, lease)
        async with self._turn:
            if (lease.task.id, lease.owner) in self._in_doubt:
                return await self._look_up(lease)
            return await self._ask(lease)

    async def _ask(self, lease: FencedLease) -> Renewal:
        asked = Moment.now(self._clock)
        body = lease.fence.body(duration=lease.generation.lease_duration)
        self._doubt(lease)  # until there is an answer, also when nobody waits for it any longer
        try:
            answer = await self._wire.post("renew", body)
        except NotSent as error:
            self._sure(lease)
            return Renewal(Receipt.TROUBLE, reason=str(error))
        except HttpError as error:
            return Renewal(Receipt.TROUBLE, reason=str(error))
        renewal = self._read(lease, answer, asked)
        if renewal.receipt is not Receipt.TROUBLE:
            self._sure(lease)
        return renewal

    async def _look_up(self, lease: FencedLease) -> Renewal:
        """How the lease stands. An owner name is used once: a row that has it, and no earlier expiry, is this lease."""
        asked = Moment.now(self._clock)
        try:
            answer = await self._wire.get(f"tasks/{lease.task.id}")
        except HttpError as error:
            return Renewal(Receipt.TROUBLE, reason=str(error))
        renewal = self._read(lease, answer, asked)
        if renewal.receipt is not Receipt.TROUBLE:
            self._sure(lease)
        return renewal

    def _read(self, lease: FencedLease, answer: HttpAnswer, asked: Moment) -> Renewal:
        told = judge(answer, asked.wall).result
        if told.receipt is not Receipt.ACCEPTED:
            lost = told.receipt is Receipt.LEASE_LOST
            return Renewal(Receipt.LEASE_LOST if lost else Receipt.TROUBLE, reason=told.reason)
        try:
            row = _row.decode(answer.body).data
        except UNREADABLE as error:
            return Renewal(Receipt.TROUBLE, reason=f"the answer can't be read: {error}")
        if row.lease_owner != lease.owner or row.lease_expires is None or row.lease_expires < lease.expires:
            return Renewal(Receipt.LEASE_LOST, reason=f"the lease is now {row.lease_owner or 'nobody'}'s")
        expires, ends_at = lease_end(row.lease_expires, asked, answer.headers)
        return Renewal(Receipt.ACCEPTED, msgspec.structs.replace(lease, expires=expires, ends_at=ends_at))

    def _doubt(self, lease: Lease) -> None:
        self._in_doubt[lease.task.id, lease.owner] = None
        while len(self._in_doubt) > MOST_DOUBTS:
            del self._in_doubt[next(iter(self._in_doubt))]

    def _sure(self, lease: Lease) -> None:
        self._in_doubt.pop((lease.task.id, lease.owner), None)
