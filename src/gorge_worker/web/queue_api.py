"""The queue's HTTP face: both generations, and the product's own extensions (queue-http contract)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from aiohttp import web

from gorge_worker.web.answers import data_answer
from gorge_worker.web.bodies import MAX_LARGE_BODY, decode_body
from gorge_worker.web.guard import Guard
from gorge_worker.web.health import HEALTH_PATHS, add_health
from gorge_worker.web.leasing import Leasing
from gorge_worker.web.queue_answers import show, show_archived, show_stats, show_whole
from gorge_worker.web.queue_bodies import AwakenBody, CompleteBody, EnqueueBody, FailBody, TaskBody, YieldBody
from gorge_worker.web.queue_queries import page_of, task_id_of
from gorge_worker.web.report_bodies import EventBody
from gorge_worker.web.reports import Reports, log_failure
from gorge_worker.web.store_errors import store_errors

if TYPE_CHECKING:
    from gorge_worker.queues.service import QueueService

_OK = {"status": "ok"}


def queue_app(service: QueueService, guard: Guard, rng: random.Random) -> web.Application:
    """The application that serves one queue; `rng` makes names for lease owners that give none."""
    api, leasing, reports = _QueueApi(service), Leasing(service, rng), Reports(service)
    app = web.Application(middlewares=[guard.middleware(lambda path: path not in HEALTH_PATHS), store_errors()])
    add_health(app)
    app.add_routes(
        [
            web.post("/api/queue/enqueue", api.enqueue),
            web.post("/api/queue/enqueue-event", api.enqueue_event),
            web.post("/api/queue/lease", leasing.lease),
            web.post("/api/queue/finalize", reports.finalize),
            web.post("/api/queue/resolve", reports.resolve),
            web.post("/api/queue/renew", reports.renew),
            web.post("/api/queue/complete", api.complete),
            web.post("/api/queue/fail", api.fail),
            web.post("/api/queue/yield", api.yield_task),
            web.post("/api/queue/cancel", api.cancel),
            web.post("/api/queue/awaken", api.awaken),
            web.get("/api/queue/meta", api.meta),
            web.get("/api/queue/stats", api.stats),
            web.get("/api/queue/tasks", api.tasks),
            web.get("/api/queue/tasks/{id}", api.task),
        ]
    )
    app.on_shutdown.append(leasing.stop)
    return app


class _QueueApi:
    """Every call that needs no lease: decode, ask the service, show."""

    def __init__(self, service: QueueService) -> None:
        self._service = service

    async def enqueue(self, request: web.Request) -> web.Response:
        body = await decode_body(request, EnqueueBody, most=MAX_LARGE_BODY)
        [task] = await self._service.enqueue([body.task()])
        return data_answer(show(task))

    async def enqueue_event(self, request: web.Request) -> web.Response:
        body = await decode_body(request, EventBody, most=MAX_LARGE_BODY)
        return data_answer(show(await self._service.enqueue_event(body.event_id, body.task.task())))

    async def complete(self, request: web.Request) -> web.Response:
        body = await decode_body(request, CompleteBody)
        return data_answer(show_archived(await self._service.complete(body.subject(), body.microseconds())))

    async def fail(self, request: web.Request) -> web.Response:
        body = await decode_body(request, FailBody)
        task_id, permanent = body.subject(), bool(body.permanent)
        await self._service.fail(task_id, permanent=permanent, retry_wait=body.wait())
        log_failure(task_id, body.message, permanent=permanent)
        return data_answer(_OK)

    async def yield_task(self, request: web.Request) -> web.Response:
        body = await decode_body(request, YieldBody)
        await self._service.yield_task(body.subject(), body.duration or 0)
        return data_answer(_OK)

    async def cancel(self, request: web.Request) -> web.Response:
        body = await decode_body(request, TaskBody)
        return data_answer(show_archived(await self._service.cancel(body.subject())))

    async def awaken(self, request: web.Request) -> web.Response:
        body = await decode_body(request, AwakenBody)
        return data_answer({"awakened": await self._service.awaken(body.subjects())})

    async def meta(self, _: web.Request) -> web.Response:
        """What a worker may expect of this server, and how long its leases last, in seconds."""
        return data_answer(
            {
                "executionVersion": 1,
                "leaseOutcomes": True,
                "leaseDuration": self._service.lease_duration,
                "longPoll": True,
                "excludeTaskClasses": True,
                "release": True,
                "enqueueEvent": await self._service.supports_events(),
            }
        )

    async def stats(self, _: web.Request) -> web.Response:
        return data_answer(show_stats(await self._service.stats()))

    async def tasks(self, request: web.Request) -> web.Response:
        page = page_of(request)
        found = await self._service.active_tasks(limit=page.limit, offset=page.offset, owner=page.owner)
        return data_answer([show(task) for task in found])

    async def task(self, request: web.Request) -> web.Response:
        return data_answer(show_whole(await self._service.task(task_id_of(request))))
