"""What an answer to a report means: the queue contract's list of statuses, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpAnswer, HttpError, NotSent
from gorge_worker.queues.gorge.envelope import describe, error_of, is_success
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, ReportResult
from gorge_worker.retry_after import retry_after

REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY})
LEASE_LOST = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})

ACCEPTED = ReportResult(Receipt.ACCEPTED)


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one call: `status` is None without an answer; `in_doubt` when the queue may have acted on the
    call although it did not say so.
    """

    result: ReportResult
    status: int | None = None
    in_doubt: bool = False


async def tell(wire: Wire, clock: Clock, route: str, body: Mapping[str, object]) -> Told:
    """Sends one call that changes a task. Never raises for trouble of the queue."""
    try:
        answer = await wire.post(route, body)
    except HttpError as error:
        return Told(result=ReportResult(Receipt.TROUBLE, str(error)), in_doubt=not isinstance(error, NotSent))
    return judge(answer, clock.wall())


def judge(answer: HttpAnswer, wall: float) -> Told:
    """`wall` is now, in epoch seconds."""
    if is_success(answer):
        return Told(result=ACCEPTED, status=answer.status)
    ours = error_of(answer) is not None
    if ours and answer.status in REFUSED:
        return Told(result=ReportResult(Receipt.REFUSED, describe(answer)), status=answer.status)
    if ours and answer.status in LEASE_LOST:
        return Told(result=ReportResult(Receipt.LEASE_LOST, describe(answer)), status=answer.status)
    # A gateway may answer in place of a queue that has done its work; its refusals never reach the queue.
    refused_on_the_way = HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Told(
        result=ReportResult(Receipt.TROUBLE, describe(answer), retry_after(answer.headers, wall)),
        status=answer.status,
        in_doubt=not ours and not refused_on_the_way,
    )
