"""Opening the store that a URL names."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gorge_worker.clock import Clock
from gorge_worker.config.settings import Settings
from gorge_worker.queues.local import LocalQueue
from gorge_worker.queues.mysql.url import is_mysql, mysql_address
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import TaskStore

SERVED_LEASE = 7200
"""Seconds; clients of generation 0 can't renew their leases (PhabricatorWorkerLeaseQuery::getDefaultLeaseDuration)."""
OWN_LEASE = 300
"""Seconds; a worker that renews its leases by itself: what a dead one held is back after so long."""


@asynccontextmanager
async def open_service(
    settings: Settings, store_url: str, clock: Clock, rng: random.Random, *, create_schema: bool = False
) -> AsyncIterator[QueueService]:
    """A store with its long poll, closed at the end. Raises ConfigurationError and StartError."""
    store = await _open_store(settings, store_url, clock, rng, create_schema=create_schema)
    duration = settings.lease_duration or SERVED_LEASE
    service = QueueService(store, lease_duration=duration, clock=clock, rng=rng)
    try:
        yield service
    finally:
        await service.close()


def local_queue(settings: Settings, service: QueueService, clock: Clock, rng: random.Random) -> LocalQueue:
    """The queue of a worker in the same process."""
    owners = OwnerNames(clock, rng)
    return LocalQueue(service, owners, clock=clock, lease_duration=settings.lease_duration or OWN_LEASE)


async def _open_store(
    settings: Settings, store_url: str, clock: Clock, rng: random.Random, *, create_schema: bool
) -> TaskStore:
    if is_mysql(store_url):
        from gorge_worker.queues.mysql.store import MysqlStore  # noqa: PLC0415 - nobody else needs the driver

        address = mysql_address(store_url, settings.task_queue_token)
        return await MysqlStore.open(address, retry_wait=settings.retry_wait, rng=rng, create_schema=create_schema)
    from gorge_worker.queues.sqlite.store import SqliteStore  # noqa: PLC0415 - likewise
    from gorge_worker.queues.sqlite.url import sqlite_path  # noqa: PLC0415 - likewise

    return await SqliteStore.open(sqlite_path(store_url), retry_wait=settings.retry_wait, clock=clock)
