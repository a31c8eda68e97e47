"""The queue of a worker in the same process: straight to the service, without HTTP."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.errors import QueueTrouble
from gorge_worker.model import Lease, Task
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import (
    LONG_POLL,
    Features,
    Leased,
    LeaseRequest,
    Receipt,
    Renewal,
    Report,
    ReportResult,
)
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import NoSuchTask, Renewed, StoreError

_GONE = Renewed(None, "the task is no longer leased here")


class LocalQueue:
    """TaskQueue over a service that its maker owns, and closes: `close` leaves it open.

    Every lease call has an owner name of its own, and lasts `lease_duration` seconds. A call that is cancelled strands
    nothing, so that there is nothing to remember here: the service itself gives back what such a call had leased.
    """

    def __init__(self, service: QueueService, owners: OwnerNames, *, clock: Clock, lease_duration: int) -> None:
        self._service = service
        self._owners = owners
        self._clock = clock
        self._lease_duration = lease_duration
        self._in_doubt: dict[tuple[int, str], float] = {}
        """Leases whose last renewal got no answer, with the end that they are known to have: past it nobody asks."""
        self.features = Features(
            # In a database that others write to, nobody tells when there is a task: the engine's own pace is better.
            long_poll=0.0 if service.shared else LONG_POLL,
            class_filter=True,
            class_exclusion=True,
            renews=True,
            report_batch=500,
            # Two: the next reports are gathered while the last ones are committed.
            report_concurrency=2,
        )

    async def lease(self, request: LeaseRequest) -> Leased:
        """Leases tasks. Raises QueueTrouble when the store is in trouble: nothing was leased then."""
        owner = self._owners.next()
        try:
            grant = await self._service.grant(
                owner=owner,
                limit=request.limit,
                classes=request.classes,
                wait=request.wait,
                duration=self._lease_duration,
            )
        except StoreError as error:
            raise QueueTrouble(str(error)) from error
        return Leased(leases=[_lease(task, owner, grant.asked_at) for task in grant.tasks])

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        asked_at = self._clock.boottime()
        doubted = {_name(lease) for lease in leases} & self._in_doubt.keys()
        self._in_doubt = {name: end for name, end in self._in_doubt.items() if end > asked_at}
        self._in_doubt |= {_name(lease): lease.ends_at for lease in leases}
        try:
            known = [await self._as_it_stands(one) if _name(one) in doubted else one for one in leases]
            renewed = iter(await self._service.renew([lease for lease in known if lease], self._lease_duration))
        except StoreError as error:
            return [Renewal(Receipt.TROUBLE, reason=str(error))] * len(leases)
        results = []
        for lease, now in zip(leases, known, strict=True):
            result = next(renewed) if now else _GONE
            if now and not result.task and _name(lease) in doubted:
                # The earlier renewal, given up here but not in the store, may have come in between: look again.
                results.append(Renewal(Receipt.TROUBLE, reason=result.reason))
            else:
                self._in_doubt.pop(_name(lease), None)
                results.append(_renewal(lease, result, asked_at))
        return results

    async def _as_it_stands(self, lease: Lease) -> Lease | None:
        """The lease with the expiry that it has now, as its last renewal got no answer; None when it is lost.

        An owner name is used once: a row that still has it, and an expiry no earlier than was known, is the same lease.
        """
        try:
            task = await self._service.task(lease.task.id)
        except NoSuchTask:
            return None
        expires = task.lease_expires or 0
        if task.lease_owner != lease.owner or expires < lease.expires:
            return None
        return msgspec.structs.replace(lease, expires=expires)

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        for report in reports:
            self._in_doubt.pop(_name(report.lease), None)
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


def _name(lease: Lease) -> tuple[int, str]:
    return lease.task.id, lease.owner


def _lease(task: Task, owner: str, asked_at: float) -> Lease:
    return Lease(task=task, owner=owner, expires=task.lease_expires or 0, ends_at=_end(task, asked_at))


def _renewal(lease: Lease, renewed: Renewed, asked_at: float) -> Renewal:
    if renewed.task is None:
        return Renewal(Receipt.TROUBLE if renewed.trouble else Receipt.LEASE_LOST, reason=renewed.reason)
    expires, ends_at = renewed.task.lease_expires or 0, _end(renewed.task, asked_at)
    return Renewal(Receipt.ACCEPTED, msgspec.structs.replace(lease, expires=expires, ends_at=ends_at))


def _end(task: Task, asked_at: float) -> float:
    # A store sets dateModified to its own clock's time when it leases or renews: what is left is the same on every
    # clock. Both are rounded down, and a lease is good through its last second: it ends no later here than there.
    return asked_at + (task.lease_expires or 0) - task.date_modified
