"""Opening the store that a URL names."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gorge_worker.clock import Clock
from gorge_worker.config.settings import Settings
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.sqlite.store import SqliteStore
from gorge_worker.queues.sqlite.url import sqlite_path


@asynccontextmanager
async def open_service(
    settings: Settings, store_url: str, clock: Clock, rng: random.Random
) -> AsyncIterator[QueueService]:
    """A store with its long poll, closed at the end. Raises ConfigurationError and StartError."""
    store = await SqliteStore.open(sqlite_path(store_url), retry_wait=settings.retry_wait, clock=clock)
    service = QueueService(store, lease_duration=settings.lease_duration, clock=clock, rng=rng)
    try:
        yield service
    finally:
        await service.close()
