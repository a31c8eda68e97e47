"""What executes the classes that are delegated to PHP, as the settings choose it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from gorge_worker.clock import Clock
from gorge_worker.config.settings import Settings
from gorge_worker.errors import BackendUnavailable
from gorge_worker.handlers.setup import DELEGATED_CLASSES
from gorge_worker.registry import ANY_CLASS, Handler
from gorge_worker.web.guard import token_header

_log = structlog.get_logger()


class Php(msgspec.Struct, frozen=True):
    """`handler` executes the delegated classes, which are `classes` unless DELEGATE_CLASSES says otherwise."""

    handler: Handler | None = None
    classes: Sequence[str] = ()


@asynccontextmanager
async def open_php(settings: Settings, clock: Clock) -> AsyncIterator[Php]:
    """PHP as PHORGE_ROOT or CONDUIT_URL names it, tried out in the background. Raises ConfigurationError."""
    if settings.phorge_root:
        if settings.conduit_url:
            _log.warning("CONDUIT_URL is not used, since PHORGE_ROOT is set")
        opened = _open_runners(settings, settings.phorge_root)
    elif settings.conduit_url:
        opened = _open_conduit(settings, clock)
    else:
        yield Php()
        return
    async with opened as php:
        yield php


@asynccontextmanager
async def _open_runners(settings: Settings, root: Path) -> AsyncIterator[Php]:
    from gorge_worker.backends.php_runner.launching import Launch  # noqa: PLC0415 - with Conduit nobody needs it
    from gorge_worker.backends.php_runner.pool import RunnerPool  # noqa: PLC0415 - likewise

    launch = Launch(
        root=root,
        php=settings.php_binary,
        user=settings.runner_user,
        max_tasks=settings.runner_max_tasks,
        max_rss_mb=settings.runner_max_rss_mb,
    )
    if os.geteuid() == 0 and not settings.runner_user:
        _log.warning("PHP executes tasks as root: set RUNNER_USER to Phorge's daemon user (phd.user)")
    pool = RunnerPool(
        launch, most=settings.runner_processes or settings.max_workers, idle=float(settings.runner_idle_sec)
    )
    try:
        async with _tried_out(pool.backend, pool.check):
            yield Php(pool, (ANY_CLASS,))
    finally:
        await pool.close()


@asynccontextmanager
async def _open_conduit(settings: Settings, clock: Clock) -> AsyncIterator[Php]:
    from gorge_worker.backends.conduit.backend import ConduitBackend  # noqa: PLC0415 - and the other way round
    from gorge_worker.http_client import HttpClient  # noqa: PLC0415 - likewise

    http = HttpClient(
        settings.conduit_url, headers=token_header(settings.conduit_token), connections=settings.max_workers
    )
    limit = settings.conduit_timeout_sec
    conduit = ConduitBackend(
        http,
        token=settings.conduit_token,
        encoding=settings.conduit_encoding,
        timeout=None if limit is None else float(limit),
        clock=clock,
    )
    try:
        async with _tried_out(conduit.backend, conduit.check):
            yield Php(conduit, DELEGATED_CLASSES)
    finally:
        await http.close()


@asynccontextmanager
async def _tried_out(backend: str, check: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Tells the operator at once whether PHP works, whether or not there are tasks for it."""
    trying = asyncio.create_task(_try_out(backend, check), name=f"trying out {backend}")
    try:
        yield
    finally:
        trying.cancel()
        await asyncio.wait([trying])


async def _try_out(backend: str, check: Callable[[], Awaitable[None]]) -> None:
    try:
        await check()
    except BackendUnavailable as trouble:
        _log.error("PHP can't execute tasks yet, they wait for it", backend=backend, reason=str(trouble))
    else:
        _log.info("PHP is ready", backend=backend)
