"""A queue server: a store and its HTTP face."""

from __future__ import annotations

import random

import structlog

from gorge_worker._version import __version__
from gorge_worker.app.process import Signals
from gorge_worker.app.stores import open_service
from gorge_worker.clock import SystemClock
from gorge_worker.config.settings import Settings
from gorge_worker.config.values import ListenAddress, mask_url
from gorge_worker.web.guard import Guard
from gorge_worker.web.queue_api import queue_app
from gorge_worker.web.serving import serve

_log = structlog.get_logger()


async def serve_queue(
    settings: Settings, store_url: str, listen: ListenAddress, signals: Signals, *, create_schema: bool = False
) -> bool:
    """Serves a queue until a signal comes; True when it ended in good order."""
    clock, rng = SystemClock(), random.Random()  # noqa: S311 - spreads waits and names, guards nothing
    async with open_service(settings, store_url, clock, rng, create_schema=create_schema) as service:
        guard = Guard(listen, settings.service_token)
        _log.info("queue starts", version=__version__, store=mask_url(store_url))
        async with serve(queue_app(service, guard, rng), guard):
            await signals.first()
    _log.info("queue ends")
    return True
