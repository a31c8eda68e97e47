"""The queue as the engine sees it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpClient
from gorge_worker.model import Lease
from gorge_worker.queues.gorge.attempts import Attempts
from gorge_worker.queues.gorge.fenced_reports import FencedReports
from gorge_worker.queues.gorge.fences import FencedLease
from gorge_worker.queues.gorge.give_backs import GiveBacks
from gorge_worker.queues.gorge.lanes import Lanes
from gorge_worker.queues.gorge.leasing import Leasing
from gorge_worker.queues.gorge.meta import Meta
from gorge_worker.queues.gorge.recovery import Recovery
from gorge_worker.queues.gorge.renewals import Renewals
from gorge_worker.queues.gorge.reports import Reports
from gorge_worker.queues.gorge.waits import Waits
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import Features, Leased, LeaseRequest, Receipt, Renewal, Report, ReportResult

SETTLING = 1.0
"""Seconds that a lease call which broke off may still be worked on."""


class GorgeQueue:
    """A TaskQueue over HTTP. Must be used within one event loop, and owns `http`: `close` closes it.

    `owners` names the leases; `rng` spreads the looks of many workers over time.
    """

    def __init__(self, http: HttpClient, owners: OwnerNames, clock: Clock, rng: random.Random) -> None:
        self._wire = Wire(http)
        self._meta = Meta(self._wire, clock)
        attempts, waits = Attempts(), Waits()
        lanes = Lanes(owners)
        give_backs = GiveBacks(self._wire, clock, on_finished=lanes.finished)
        self._recovery = Recovery(wire=self._wire, lanes=lanes, give_backs=give_backs, clock=clock, rng=rng)
        self._leasing = Leasing(
            wire=self._wire,
            meta=self._meta,
            owners=owners,
            lanes=lanes,
            recovery=self._recovery,
            give_backs=give_backs,
            attempts=attempts,
            waits=waits,
            clock=clock,
        )
        self._reports = Reports(
            wire=self._wire,
            attempts=attempts,
            waits=waits,
            clock=clock,
            on_finished=lanes.finished,
            on_lost_touch=self._meta.forget,
        )
        self._fenced = FencedReports(wire=self._wire, attempts=attempts, clock=clock, on_lost_touch=self._meta.forget)
        self._renewals = Renewals(self._wire, clock, on_lost_touch=self._meta.forget)

    @property
    def features(self) -> Features:
        return self._meta.latest.features

    async def lease(self, request: LeaseRequest) -> Leased:
        return await self._leasing.lease(request)

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        results = await asyncio.gather(*(self._send(report) for report in reports))
        if any(result.receipt is not Receipt.TROUBLE for result in results):
            self._recovery.contact()
        return results

    async def _send(self, report: Report) -> ReportResult:
        lease = report.lease
        if isinstance(lease, FencedLease):
            return await self._fenced.send(report, lease)
        return await self._reports.send(report)

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        return await self._renewals.renew(leases)

    async def rest(self) -> None:
        await self._wire.rest()

    async def give_back(self) -> None:
        # A queue with long poll takes back at once what its caller does not wait for any longer (queue contract).
        await self._recovery.finish(0.0 if self.features.long_poll else SETTLING)

    async def close(self) -> None:
        await self._recovery.close()
        await self._wire.close()
