"""Everything in one process: a queue in a folder, its HTTP face, and a worker on it."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote

import structlog

from gorge_worker._version import __version__
from gorge_worker.app.process import Signals
from gorge_worker.app.stores import local_queue, open_service
from gorge_worker.app.worker import open_handlers, work
from gorge_worker.clock import SystemClock
from gorge_worker.config.settings import Settings
from gorge_worker.errors import StartError
from gorge_worker.web.guard import Guard
from gorge_worker.web.queue_api import queue_app
from gorge_worker.web.serving import serve

DATABASE = "queue.db"
OWNER_ONLY = 0o700
"""Task data can hold anything, mail among it."""

_log = structlog.get_logger()


async def serve_standalone(settings: Settings, data: Path, signals: Signals) -> bool:
    """Runs until a signal comes; True when it ended in good order. The queue outlives the worker's drain."""
    clock, rng = SystemClock(), random.Random()  # noqa: S311 - spreads waits and names, guards nothing
    _make_folder(data)
    store_url = f"sqlite:///{quote(str(data / DATABASE))}"
    async with open_handlers(settings, clock) as registry, open_service(settings, store_url, clock, rng) as service:
        _log.info("standalone starts", version=__version__, data=str(data))
        guard = Guard(settings.queue_listen_addr, settings.service_token)
        async with serve(queue_app(service, guard, rng), guard):
            queue = local_queue(settings, service, clock, rng)
            return await work(settings, queue, registry, signals, clock=clock, rng=rng)


def _make_folder(data: Path) -> None:
    try:
        data.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    except OSError as error:
        reason = f"can't create the data folder {data}: {error.strerror}; choose another with --data"
        raise StartError(reason) from error
