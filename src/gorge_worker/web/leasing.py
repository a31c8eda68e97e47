"""The lease call: it may wait for a task, and what it leased is given back when its answer can't be delivered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from gorge_worker.model import Task
from gorge_worker.web.answers import data_answer
from gorge_worker.web.bodies import decode_body
from gorge_worker.web.delivery import deliver
from gorge_worker.web.queue_answers import show_whole
from gorge_worker.web.queue_bodies import LeaseBody
from gorge_worker.web.queue_queries import lease_owner_of

if TYPE_CHECKING:
    from gorge_worker.queues.service import QueueService

log = structlog.get_logger()


class Leasing:
    """Serves POST /api/queue/lease for one application.

    A caller that goes away cancels its call: a lease that waits is dropped by the service, and one whose answer is
    not wholly written is given back. Owns the ends of the waiting calls, which `stop` brings forward.
    """

    def __init__(self, service: QueueService, rng: random.Random) -> None:
        self._service = service
        self._rng = rng
        self._waiting: set[asyncio.Timeout] = set()
        self._stopped = False

    async def lease(self, request: web.Request) -> web.StreamResponse:
        owner = lease_owner_of(request, self._rng)
        body = await decode_body(request, LeaseBody)
        tasks = await self._wait_for_tasks(owner, body)
        answer = data_answer([show_whole(task) for task in tasks])
        if tasks:
            await self._hand_over(request, answer, tasks)
        return answer

    async def stop(self, _: web.Application) -> None:
        """Ends every wait now, with an empty answer; later calls do not wait."""
        self._stopped = True
        now = asyncio.get_running_loop().time()
        for wait in self._waiting:
            wait.reschedule(now)

    async def _wait_for_tasks(self, owner: str, body: LeaseBody) -> list[Task]:
        places, classes, patience = body.places(), body.classes(), body.patience()
        if self._stopped or patience <= 0:
            return await self._service.lease(owner=owner, limit=places, classes=classes)
        wait = asyncio.timeout(None)
        self._waiting.add(wait)
        try:
            async with wait:
                return await self._service.lease(owner=owner, limit=places, classes=classes, wait=patience)
        except TimeoutError:
            if not wait.expired():
                raise
            return []
        finally:
            self._waiting.discard(wait)

    async def _hand_over(self, request: web.Request, answer: web.Response, tasks: Sequence[Task]) -> None:
        try:
            await deliver(request, answer)
        except BaseException as error:
            log.info(
                "a lease was not delivered and is given back",
                owner=tasks[0].lease_owner,
                tasks=len(tasks),
                reason=str(error) or "the call was cancelled",
            )
            self._service.give_back(tasks)
            if not isinstance(error, ConnectionError):
                raise
            # Otherwise aiohttp sees for itself that the connection is no more.
