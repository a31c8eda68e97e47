"""A worker: a queue, handlers, the engine, and its HTTP face."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from gorge_worker._version import __version__
from gorge_worker.app.php import open_php
from gorge_worker.app.process import Signals
from gorge_worker.clock import Clock, SystemClock
from gorge_worker.config.settings import Settings
from gorge_worker.config.values import is_store_url, mask_url
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.watchdog import Watchdog
from gorge_worker.engine.worker import Worker
from gorge_worker.handlers.setup import HandlerChoice, build_handlers
from gorge_worker.http_client import HttpClient
from gorge_worker.masking import Masking
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import TaskQueue
from gorge_worker.registry import Registry
from gorge_worker.web.guard import Guard, token_header
from gorge_worker.web.serving import serve
from gorge_worker.web.worker_api import WorkerStats, worker_app

QUEUE_CONNECTIONS = 64
"""Connections to a queue server: what many reports at once may use."""

_log = structlog.get_logger()


async def serve_worker(settings: Settings, signals: Signals) -> bool:
    """Runs a worker on the queue that TASK_QUEUE_URL names; True when it ended in good order."""
    clock, rng = SystemClock(), random.Random()  # noqa: S311 - spreads waits and names, guards nothing
    async with open_handlers(settings, clock) as registry, _open_queue(settings, clock, rng) as queue:
        _log.info("worker starts", version=__version__, queue=mask_url(settings.task_queue_url))
        return await work(settings, queue, registry, signals, clock=clock, rng=rng)


async def work(
    settings: Settings, queue: TaskQueue, registry: Registry, signals: Signals, *, clock: Clock, rng: random.Random
) -> bool:
    """Executes the queue's tasks and serves the worker's HTTP face until a signal comes."""
    options = EngineOptions(
        max_workers=settings.max_workers,
        lease_limit=settings.lease_limit,
        poll_interval=settings.poll_interval_ms / 1000,
        idle_timeout=float(settings.idle_timeout_sec),
        drain_timeout=float(settings.drain_timeout_sec),
    )
    worker = Worker(
        queue=queue,
        registry=registry,
        options=options,
        clock=clock,
        rng=rng,
        hide_secrets=Masking(settings.secrets).hide,
    )
    guard = Guard(settings.listen_addr, settings.service_token)

    def stats() -> WorkerStats:
        now = worker.stats
        return WorkerStats(processed=now.processed, failed=now.failed, active=now.active, supported=registry.supported)

    async with serve(worker_app(stats, guard), guard):
        watchdog = Watchdog()
        watchdog.start()
        ending = asyncio.create_task(_end_on_signals(worker, signals))
        try:
            return await worker.run()
        finally:
            ending.cancel()
            watchdog.stop()
            _log.info("worker ends", processed=worker.stats.processed, failed=worker.stats.failed)


@asynccontextmanager
async def open_handlers(settings: Settings, clock: Clock) -> AsyncIterator[Registry]:
    """The handlers that the settings choose. Raises ConfigurationError naming every choice that can't be used."""
    async with AsyncExitStack() as stack:
        php = await stack.enter_async_context(open_php(settings, clock))
        executor = ThreadPoolExecutor(settings.max_workers, thread_name_prefix="handler")
        stack.callback(executor.shutdown, wait=False)
        choice = HandlerChoice(
            php=php.handler,
            php_classes=php.classes,
            delegate_classes=settings.delegate_classes,
            native_classes=settings.native_classes,
            noop_classes=settings.noop_classes,
            modules=settings.handlers,
            feed_hooks=settings.feed_http_hooks,
            class_filter=settings.task_class_filter,
        )
        handlers = build_handlers(choice, executor=executor, clock=clock)
        stack.push_async_callback(handlers.close)
        yield handlers.registry


@asynccontextmanager
async def _open_queue(settings: Settings, clock: Clock, rng: random.Random) -> AsyncIterator[TaskQueue]:
    async with AsyncExitStack() as stack:
        if is_store_url(settings.task_queue_url):
            from gorge_worker.app.stores import local_queue, open_service  # noqa: PLC0415 - over HTTP there is no store

            service = await stack.enter_async_context(open_service(settings, settings.task_queue_url, clock, rng))
            yield local_queue(settings, service, clock, rng)
            return
        from gorge_worker.queues.gorge.adapter import GorgeQueue  # noqa: PLC0415 - and the other way round

        headers = token_header(settings.task_queue_token)
        http = HttpClient(settings.task_queue_url, headers=headers, connections=QUEUE_CONNECTIONS)
        queue = GorgeQueue(http, OwnerNames(clock, rng), clock, rng)
        stack.push_async_callback(queue.close)
        yield queue


async def _end_on_signals(worker: Worker, signals: Signals) -> None:
    await signals.first()
    worker.drain()
    await signals.second()
    worker.cut()
