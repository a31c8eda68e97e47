"""The queue of a worker in the same process: straight to the service, without HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Lease, Task
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import LONG_POLL, Features, Leased, LeaseRequest, Receipt, Report, ReportResult
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import StoreError

_FEATURES = Features(
    long_poll=LONG_POLL,
    class_filter=True,
    report_batch=500,
    # Two: the next reports are gathered while the last ones are committed.
    report_concurrency=2,
)


class LocalQueue:
    """TaskQueue over a service that its maker owns, and closes: `close` leaves it open.

    Every lease call has an owner name of its own. A call that is cancelled strands nothing, so that there is nothing
    to remember here: the service itself gives back what such a call had leased.
    """

    def __init__(self, service: QueueService, owners: OwnerNames) -> None:
        self._service = service
        self._owners = owners

    @property
    def features(self) -> Features:
        return _FEATURES

    async def lease(self, request: LeaseRequest) -> Leased:
        """Leases tasks. Raises QueueTrouble when the store is in trouble: nothing was leased then."""
        owner = self._owners.next()
        try:
            grant = await self._service.grant(
                owner=owner, limit=request.limit, task_classes=request.task_classes, wait=request.wait
            )
        except StoreError as error:
            raise QueueTrouble(str(error)) from error
        return Leased(leases=[_lease(task, owner, grant.asked_at) for task in grant.tasks])

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        try:
            return await self._service.report(reports)
        except StoreError as error:
            return [ReportResult(Receipt.TROUBLE, str(error))] * len(reports)

    async def rest(self) -> None:
        """Nothing is kept open for the worker alone."""

    async def give_back(self) -> None:
        """Waits for the service to give back what cancelled calls had leased."""
        await self._service.settled()

    async def close(self) -> None:
        """Closes nothing: the service is its maker's."""


def _lease(task: Task, owner: str, asked_at: float) -> Lease:
    # A store sets dateModified to its own clock's time when it leases: what is left is the same on every clock. Both
    # are rounded down, and a lease is good through its last second: it ends here no later than in the store.
    expires = task.lease_expires or 0
    return Lease(task=task, owner=owner, expires=expires, ends_at=asked_at + expires - task.date_modified)
