"""Whole workers on an imitation of the Go queue server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.worker import Worker
from gorge_worker.http_client import HttpClient
from gorge_worker.queues.gorge import GorgeQueue
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.registry import Registry
from support.go_queue import GoServer, ShiftedClock
from support.memory_queue import CLASS, FakeHandler


@asynccontextmanager
async def open_queue(server: GoServer, seed: int) -> AsyncIterator[GorgeQueue]:
    rng, clock = random.Random(seed), server.clock
    http = HttpClient(server.url, headers={"X-Worker": str(seed)}, connections=8)
    queue = GorgeQueue(http, OwnerNames(clock, rng), clock, rng)
    try:
        yield queue
    finally:
        await queue.close()


@asynccontextmanager
async def running_worker(server: GoServer, handler: FakeHandler, seed: int, **options: int) -> AsyncIterator[Worker]:
    """A worker, drained at the end."""
    registry = Registry()
    registry.register(CLASS, handler)
    async with open_queue(server, seed) as queue:
        worker = Worker(
            queue=queue,
            registry=registry,
            options=EngineOptions(poll_interval=0.05, **options),
            clock=server.clock,
            rng=random.Random(seed),
            hide_secrets=str,
        )
        run = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            assert await run, "the worker had to cut something"


def while_time_flies(clock: ShiftedClock, condition: Callable[[], object], step: float = 0.1) -> Callable[[], object]:
    """For `until`: each look at the condition finds the clocks a moment further on."""

    def look() -> object:
        clock.ahead += step
        return condition()

    return look


def all_archived(server: GoServer) -> Callable[[], bool]:
    return lambda: not server.table.active()
