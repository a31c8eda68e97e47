"""The lease call: it may wait for a task, and what it leased comes back when its answer can't be delivered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from gorge_worker.model import Task
from gorge_worker.queues.store import StoreError
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
    not wholly written is taken back here. Owns the waiting calls, which `stop` ends, and the leases on their way
    back, which `finish` waits for.
    """

    def __init__(self, service: QueueService, rng: random.Random) -> None:
        self._service = service
        self._rng = rng
        self._waiting: set[asyncio.Timeout] = set()
        self._returning: set[asyncio.Task[None]] = set()
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

    async def finish(self, _: web.Application) -> None:
        """Returns when no lease is on its way back any more."""
        await asyncio.gather(*self._returning)

    async def _wait_for_tasks(self, owner: str, body: LeaseBody) -> list[Task]:
        places, classes, patience = body.places(), body.classes(), body.patience()
        wait = asyncio.timeout(None)
        self._waiting.add(wait)
        try:
            async with wait:
                return await self._service.lease(
                    owner=owner, limit=places, task_classes=classes, wait=0.0 if self._stopped else patience
                )
        except TimeoutError:
            if not wait.expired():
                raise
            return []
        finally:
            self._waiting.discard(wait)

    async def _hand_over(self, request: web.Request, answer: web.Response, tasks: Sequence[Task]) -> None:
        try:
            await deliver(request, answer)
        except (ConnectionError, TimeoutError) as error:
            # aiohttp sees for itself that the connection is no more.
            await self._take_back(tasks, str(error))
        except BaseException:
            await self._take_back(tasks, "the call was cancelled")
            raise

    async def _take_back(self, tasks: Sequence[Task], reason: str) -> None:
        """Releases leases in a task of its own, which goes on when this call is cancelled once more."""
        log.info(
            "a lease was not delivered and is taken back", owner=tasks[0].lease_owner, tasks=len(tasks), reason=reason
        )
        returning = asyncio.create_task(self._release(tasks))
        self._returning.add(returning)
        returning.add_done_callback(self._returning.discard)
        await asyncio.shield(returning)

    async def _release(self, tasks: Sequence[Task]) -> None:
        try:
            await self._service.release(tasks)
        except StoreError as error:
            ids = [task.id for task in tasks]
            log.error("leases could not be taken back and run until their end", tasks=ids, reason=str(error))  # noqa: TRY400 - no bug of ours
