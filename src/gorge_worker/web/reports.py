"""What is said under a lease: it counts only while the lease holds, else it is a conflict and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from gorge_worker.model import Lease, Outcome, Verdict
from gorge_worker.queues.protocol import Receipt, Report
from gorge_worker.queues.store import StoreError
from gorge_worker.web.answers import data_answer
from gorge_worker.web.bodies import MAX_LARGE_BODY, decode_body
from gorge_worker.web.errors import Refused
from gorge_worker.web.queue_answers import show
from gorge_worker.web.report_bodies import FinalizeBody, RenewBody, ResolveBody

if TYPE_CHECKING:
    from gorge_worker.queues.service import QueueService

log = structlog.get_logger()

MAX_LOGGED_MESSAGE = 500
"""Letters of a failure's message that are worth a line in the log."""

_OK = {"status": "ok"}
_FAILURES = (Verdict.PERMANENT_FAILURE, Verdict.TEMPORARY_FAILURE)


def log_failure(task_id: int, message: str | None, *, permanent: bool) -> None:
    """There is no column for a failure's message: the log is the one place where it is kept."""
    reason = (message or "")[:MAX_LOGGED_MESSAGE]
    log.info("a failure was reported", task=task_id, permanent=permanent, reason=reason)


class Reports:
    """The calls finalize, resolve and renew."""

    def __init__(self, service: QueueService) -> None:
        self._service = service

    async def finalize(self, request: web.Request) -> web.Response:
        body = await decode_body(request, FinalizeBody, most=MAX_LARGE_BODY)
        return await self._report(body.lease(), body.outcome(), body.microseconds())

    async def resolve(self, request: web.Request) -> web.Response:
        body = await decode_body(request, ResolveBody)
        lease, outcome = body.lease(), body.verdict()
        answer = await self._report(lease, outcome, 0)
        if outcome.verdict in _FAILURES:
            log_failure(lease.task.id, body.message, permanent=outcome.verdict is Verdict.PERMANENT_FAILURE)
        return answer

    async def renew(self, request: web.Request) -> web.Response:
        body = await decode_body(request, RenewBody)
        [renewed] = await self._service.renew([body.lease()], body.seconds())
        if renewed.trouble:
            raise StoreError(renewed.reason)
        if renewed.task is None:
            raise _conflict(renewed.reason)
        return data_answer(show(renewed.task))

    async def _report(self, lease: Lease, outcome: Outcome, duration: int) -> web.Response:
        [result] = await self._service.report([Report(lease=lease, outcome=outcome, duration=duration)])
        if result.receipt is Receipt.LEASE_LOST:
            raise _conflict(result.reason)
        if result.receipt is Receipt.REFUSED:
            raise Refused(400, result.reason)
        if result.receipt is Receipt.TROUBLE:
            raise StoreError(result.reason)
        return data_answer(_OK)


def _conflict(reason: str) -> Refused:
    return Refused(409, f"this lease does not hold (any more): {reason}")
