"""The routes that tell everybody that the process lives."""

from __future__ import annotations

from aiohttp import web

from gorge_worker.web.answers import json_answer

HEALTH_PATHS = frozenset({"/", "/healthz"})
"""Open to every caller: they tell nothing and change nothing."""


def add_health(app: web.Application) -> None:
    for path in sorted(HEALTH_PATHS):
        app.router.add_get(path, _healthy)


async def _healthy(_: web.Request) -> web.Response:
    return json_answer({"status": "ok"})
