"""Reporting one outcome with generation 0's calls, which carry no lease: one try at a time."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from http import HTTPStatus

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpAnswer, HttpError
from gorge_worker.model import Lease, Verdict
from gorge_worker.queues.gorge.attempts import Attempt, Attempts
from gorge_worker.queues.gorge.calls import followup_bodies, outcome_call
from gorge_worker.queues.gorge.envelope import UNREADABLE, Data, error_of, is_success
from gorge_worker.queues.gorge.receipts import ACCEPTED, Told, tell
from gorge_worker.queues.gorge.waits import Waits
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, Report, ReportResult

RETRY_WAIT = 300
"""Seconds that a failed task waits when nothing else is said (PhabricatorWorkerActiveTask)."""
PLAIN_ERRORS = 3
"""After so many answers with status 500 in a row it is looked up whether the task is there at all."""

BACK_IN_THE_QUEUE = frozenset({Verdict.TEMPORARY_FAILURE, Verdict.YIELD, Verdict.RELEASE})


class Whereabouts(Enum):
    """What the queue shows of a task."""

    LEASED_HERE = auto()
    ELSEWHERE = auto()
    """Active, but no longer under the lease."""
    GONE = auto()
    """Archived, as far as can be told: a server without the route answers the same."""
    UNKNOWN = auto()


class _Row(msgspec.Struct, rename="camel"):
    lease_owner: str | None = None


_row = msgspec.json.Decoder(Data[_Row])


class Reports:
    """Sends reports. `on_finished` is told the id of each task that is no longer leased here; `on_lost_touch` that
    the queue could not be reached.
    """

    def __init__(
        self,
        *,
        wire: Wire,
        attempts: Attempts,
        waits: Waits,
        clock: Clock,
        on_finished: Callable[[int], None],
        on_lost_touch: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._attempts = attempts
        self._waits = waits
        self._clock = clock
        self._on_finished = on_finished
        self._on_lost_touch = on_lost_touch

    async def send(self, report: Report) -> ReportResult:
        """One try.

        A repeated try goes on after the follow-ups that the queue has accepted. One whose answer was lost is sent
        again and may then exist twice: generation 0 has no means to tell.
        """
        attempt = self._attempts.of(report.lease)
        result = await self._enqueue_followups(report, attempt) or await self._report(report, attempt)
        if result.receipt is not Receipt.TROUBLE:
            self._settle(report, attempt, result.receipt)
        return result

    def _settle(self, report: Report, attempt: Attempt, receipt: Receipt) -> None:
        self._attempts.close(attempt)
        task_id, outcome = report.lease.task.id, report.outcome
        if receipt is Receipt.REFUSED and outcome.verdict is Verdict.SUCCESS:
            return  # still leased: a permanent failure is going to be reported in its place
        failed_again_later = outcome.verdict is Verdict.TEMPORARY_FAILURE and receipt is Receipt.ACCEPTED
        if failed_again_later or receipt is Receipt.REFUSED:
            wait = RETRY_WAIT if outcome.wait is None else outcome.wait
            self._waits.keep(task_id, wait, self._clock.boottime())
        self._on_finished(task_id)

    async def _enqueue_followups(self, report: Report, attempt: Attempt) -> ReportResult | None:
        """None when all are enqueued."""
        for body in followup_bodies(report, attempt.followups):
            told = await self._tell("enqueue", body)
            if told.result.receipt is not Receipt.ACCEPTED:
                return _of_followup(told.result)
            attempt.followups += 1
        return None

    async def _report(self, report: Report, attempt: Attempt) -> ReportResult:
        if attempt.in_doubt and report.outcome.verdict in BACK_IN_THE_QUEUE:
            # The task may be back, and with somebody else by now, whom a second report would hit (fact 1).
            match await self._look_up(report.lease):
                case Whereabouts.ELSEWHERE:
                    return ACCEPTED
                case Whereabouts.UNKNOWN:
                    return ReportResult(Receipt.TROUBLE, "it can't be seen whether the last try was accepted")
                case Whereabouts.LEASED_HERE | Whereabouts.GONE:
                    pass
        route, body = outcome_call(report)
        told = await self._tell(route, body)
        was_in_doubt, attempt.in_doubt = attempt.in_doubt, attempt.in_doubt or told.in_doubt
        attempt.errors = attempt.errors + 1 if told.status == HTTPStatus.INTERNAL_SERVER_ERROR else 0
        if was_in_doubt and told.status == HTTPStatus.NOT_FOUND and told.result.receipt is Receipt.LEASE_LOST:
            return ACCEPTED
        if attempt.errors and (was_in_doubt or attempt.errors >= PLAIN_ERRORS):
            return await self._explain_error(report.lease, told.result, was_in_doubt=was_in_doubt)
        return told.result

    async def _explain_error(self, lease: Lease, result: ReportResult, *, was_in_doubt: bool) -> ReportResult:
        """Generation 0 answers 500 also for a task that is archived already."""
        if await self._look_up(lease) is not Whereabouts.GONE:
            return result
        if was_in_doubt:
            return ACCEPTED
        return ReportResult(Receipt.LEASE_LOST, f"the task is not in the queue any more ({result.reason})")

    async def _tell(self, route: str, body: dict[str, object]) -> Told:
        told = await tell(self._wire, self._clock, route, body)
        if told.status is None:
            self._on_lost_touch()
        return told

    async def _look_up(self, lease: Lease) -> Whereabouts:
        try:
            answer = await self._wire.get(f"tasks/{lease.task.id}")
        except HttpError:
            return Whereabouts.UNKNOWN
        return _whereabouts(answer, lease.owner)


def _of_followup(result: ReportResult) -> ReportResult:
    """An enqueue call knows no lease that could be lost: such an answer is trouble."""
    if result.receipt is Receipt.LEASE_LOST:
        return ReportResult(Receipt.TROUBLE, f"follow-up not enqueued: {result.reason}")
    return ReportResult(result.receipt, f"follow-up not enqueued: {result.reason}", result.retry_after)


def _whereabouts(answer: HttpAnswer, owner: str) -> Whereabouts:
    if answer.status == HTTPStatus.NOT_FOUND and error_of(answer):
        return Whereabouts.GONE
    if not is_success(answer):
        return Whereabouts.UNKNOWN
    try:
        row = _row.decode(answer.body).data
    except UNREADABLE:  # a task that can't be read otherwise either
        return Whereabouts.LEASED_HERE
    return Whereabouts.LEASED_HERE if row.lease_owner == owner else Whereabouts.ELSEWHERE
