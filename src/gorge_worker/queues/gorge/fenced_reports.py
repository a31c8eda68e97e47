"""Reporting one outcome with generation 1's calls: one try at a time."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from gorge_worker.clock import Clock
from gorge_worker.model import Verdict
from gorge_worker.queues.gorge.attempts import Attempt, Attempts
from gorge_worker.queues.gorge.fences import FencedLease, fenced_call
from gorge_worker.queues.gorge.standing import tell_fenced
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Report, ReportResult

MOST_FOLLOWUPS = 1000
"""Follow-ups that a queue takes with one success (queue contract)."""


class FencedReports:
    """Sends reports under a lease. `on_lost_touch` is told that there was no answer, or that the queue may know the
    calls no more.
    """

    def __init__(self, *, wire: Wire, attempts: Attempts, clock: Clock, on_lost_touch: Callable[[], None]) -> None:
        self._wire = wire
        self._attempts = attempts
        self._clock = clock
        self._on_lost_touch = on_lost_touch

    async def send(self, report: Report, lease: FencedLease) -> ReportResult:
        """One try. A success may be sent again: under the same lease the queue takes it once."""
        attempt = self._attempts.of(lease)
        result = _refused_here(report) or await self._tell(report, lease, attempt)
        if result.receipt is Receipt.TROUBLE:
            return result
        refused_success = result.receipt is Receipt.REFUSED and report.outcome.verdict is Verdict.SUCCESS
        if not refused_success:  # else a permanent failure is going to be reported in its place
            self._attempts.close(attempt)
        if result.receipt is Receipt.LEASE_LOST and attempt.in_doubt:
            # The queue has answered one try at most, and this one says that the lease is over: one way or the other.
            return ReportResult(Receipt.LEASE_LOST, f"{result.reason} (an earlier try may have been accepted)")
        return result

    async def _tell(self, report: Report, lease: FencedLease, attempt: Attempt) -> ReportResult:
        fence = lease.fence
        told = await tell_fenced(self._wire, self._clock, fence, *fenced_call(fence, report))
        attempt.in_doubt = attempt.in_doubt or told.in_doubt
        if told.result.receipt is Receipt.TROUBLE and told.status in (None, HTTPStatus.NOT_FOUND):
            self._on_lost_touch()
        return told.result


def _refused_here(report: Report) -> ReportResult | None:
    """What needs no call, which the queue would refuse without saying why."""
    if (count := len(report.outcome.followups)) > MOST_FOLLOWUPS:
        return ReportResult(Receipt.REFUSED, f"{count} follow-ups, a queue takes {MOST_FOLLOWUPS} with one success")
    return None
