"""The worker's own HTTP face. Its three routes never change shape (worker-http contract)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from aiohttp import web

from gorge_worker.web.answers import data_answer
from gorge_worker.web.guard import Guard
from gorge_worker.web.health import add_health


class WorkerStats(msgspec.Struct, frozen=True, kw_only=True):
    """The data of GET /api/worker/stats, in the order of its fields.

    `processed`: successes that the queue has accepted; `failed`: permanent and temporary failures; `active`: tasks
    being executed now; `supported`: the registered classes in registration order.
    """

    processed: int
    failed: int
    active: int
    supported: list[str]


def worker_app(stats: Callable[[], WorkerStats], guard: Guard) -> web.Application:
    """The application behind LISTEN_ADDR; `stats` is asked for each call."""

    async def show_stats(_: web.Request) -> web.Response:
        return data_answer(stats())

    app = web.Application(middlewares=[guard.middleware(lambda path: path.startswith("/api/worker/"))])
    add_health(app)
    app.router.add_get("/api/worker/stats", show_stats)
    return app
