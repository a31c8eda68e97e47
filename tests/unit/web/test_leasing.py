from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, cast

from aiohttp import web
from support.fake_service import FakeService
from support.waiting import until

from gorge_worker.web.leasing import Leasing
from gorge_worker.web.queue_bodies import LeaseBody

if TYPE_CHECKING:
    from gorge_worker.queues.service import QueueService

WAITING = LeaseBody(wait=30.0)


def leasing_of(service: FakeService) -> Leasing:
    return Leasing(cast("QueueService", service), random.Random(1))


async def test_a_stop_ends_every_wait_with_nothing() -> None:
    service = FakeService()
    leasing = leasing_of(service)
    waits = [asyncio.create_task(leasing._wait_for_tasks("o", WAITING)) for _ in range(3)]
    await until(lambda: service.waiting == 3, what="three calls wait")
    await leasing.stop(web.Application())
    assert await asyncio.gather(*waits) == [[], [], []]
    assert service.waiting == 0


async def test_a_call_after_the_stop_does_not_wait() -> None:
    service = FakeService()
    leasing = leasing_of(service)
    await leasing.stop(web.Application())
    assert await leasing._wait_for_tasks("o", WAITING) == []
    assert service.arguments("lease")["wait"] == 0.0
