"""Reporting one outcome with generation 1's calls: one try at a time."""

from __future__ import annotations

from collections.abc import Callable

from gorge_worker.clock import Clock
from gorge_worker.model import Verdict
from gorge_worker.queues.gorge.attempts import Attempts
from gorge_worker.queues.gorge.fences import FencedLease, fenced_call
from gorge_worker.queues.gorge.receipts import tell
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Report, ReportResult


class FencedReports:
    """Sends reports under a lease. `on_lost_touch` is told that the queue could not be reached."""

    def __init__(self, *, wire: Wire, attempts: Attempts, clock: Clock, on_lost_touch: Callable[[], None]) -> None:
        self._wire = wire
        self._attempts = attempts
        self._clock = clock
        self._on_lost_touch = on_lost_touch

    async def send(self, report: Report, lease: FencedLease) -> ReportResult:
        """One try. A success may be sent again: under the same lease the queue takes it once."""
        attempt = self._attempts.of(lease)
        told = await tell(self._wire, self._clock, *fenced_call(lease.fence, report))
        if told.status is None:
            self._on_lost_touch()
        result = told.result
        if result.receipt is Receipt.TROUBLE:
            attempt.in_doubt = attempt.in_doubt or told.in_doubt
            return result
        refused_success = result.receipt is Receipt.REFUSED and report.outcome.verdict is Verdict.SUCCESS
        if not refused_success:  # else a permanent failure is going to be reported in its place
            self._attempts.close(attempt)
        if result.receipt is Receipt.LEASE_LOST and attempt.in_doubt:
            # The queue has answered one try at most, and this one says that the lease is over: one way or the other.
            return ReportResult(Receipt.LEASE_LOST, f"{result.reason} (an earlier try may have been accepted)")
        return result
