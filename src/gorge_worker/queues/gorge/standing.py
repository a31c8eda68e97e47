"""How a lease of a generation 1 queue stands, read off the row of its task."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpAnswer, HttpError
from gorge_worker.queues.gorge.envelope import UNREADABLE, Data
from gorge_worker.queues.gorge.fences import Fence
from gorge_worker.queues.gorge.queue_time import Moment, lease_end
from gorge_worker.queues.gorge.receipts import Told, judge, tell
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, ReportResult


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """ACCEPTED: the lease is held, until `expires` by the queue's clock and `ends_at` on CLOCK_BOOTTIME. LEASE_LOST: it
    is not, and why. TROUBLE: that can't be seen.
    """

    receipt: Receipt
    reason: str = ""
    expires: int = 0
    ends_at: float = 0.0


class _Row(msgspec.Struct, rename="camel"):
    lease_owner: str | None = None
    lease_expires: int | None = None


_row = msgspec.json.Decoder(Data[_Row])


def read_standing(fence: Fence, answer: HttpAnswer, asked: Moment) -> Standing:
    """An answer that shows the task. An owner name is used once: a row that has it, and no earlier expiry, is this
    lease. `asked` is just before the call was sent.
    """
    result = judge(answer, asked.wall).result
    if result.receipt is not Receipt.ACCEPTED:
        lost = result.receipt is Receipt.LEASE_LOST
        return Standing(receipt=Receipt.LEASE_LOST if lost else Receipt.TROUBLE, reason=result.reason)
    try:
        row = _row.decode(answer.body).data
    except UNREADABLE as error:
        return Standing(receipt=Receipt.TROUBLE, reason=f"the answer can't be read: {error}")
    if row.lease_owner != fence.owner:
        return Standing(receipt=Receipt.LEASE_LOST, reason=f"the lease is now {row.lease_owner or 'nobody'}'s")
    if row.lease_expires is None or row.lease_expires < fence.expires:
        return Standing(receipt=Receipt.LEASE_LOST, reason="the lease has been cut short")
    expires, ends_at = lease_end(row.lease_expires, asked, answer.headers)
    return Standing(receipt=Receipt.ACCEPTED, expires=expires, ends_at=ends_at)


async def look_up(wire: Wire, clock: Clock, fence: Fence) -> Standing:
    """Asks for the task. Never raises for trouble of the queue."""
    asked = Moment.now(clock)
    try:
        answer = await wire.get(f"tasks/{fence.task_id}")
    except HttpError as error:
        return Standing(receipt=Receipt.TROUBLE, reason=str(error))
    return read_standing(fence, answer, asked)


async def tell_fenced(wire: Wire, clock: Clock, fence: Fence, route: str, body: Mapping[str, object]) -> Told:
    """Sends one call that is made under a lease.

    The Go server has one 404 for everything: from a queue that has turned into one of generation 0 it says that there
    is no such call, not that there is no such task. Then it is trouble, as the queue may turn back.
    """
    told = await tell(wire, clock, route, body)
    if told.status != HTTPStatus.NOT_FOUND or told.result.receipt is not Receipt.LEASE_LOST:
        return told
    if (await look_up(wire, clock, fence)).receipt is Receipt.LEASE_LOST:
        return told
    reason = f"{told.result.reason} (of the call {route}: the task is not known to be lost)"
    return Told(result=ReportResult(Receipt.TROUBLE, reason), status=told.status)
