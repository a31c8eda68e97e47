"""Finds out, once, what the `worker.execute` before us can do."""

from __future__ import annotations

import asyncio

import structlog

from gorge_worker.backends.conduit.answer import UndeclaredParameters
from gorge_worker.backends.conduit.calls import ConduitCalls
from gorge_worker.backends.conduit.dialect import PROBE, SEED, VERSION_1, Dialect, dialect_of_result, dialect_without
from gorge_worker.clock import Clock
from gorge_worker.errors import LeaseLost

PROBE_TIMEOUT = 10.0
"""Seconds for a call that executes nothing."""
ASK_AGAIN = 3600.0
"""Seconds after which an older method may have been replaced by a newer one."""
ASK_AGAIN_SOON = 60.0
"""Seconds after a probe whose answer said nothing."""

_log = structlog.get_logger()


class Capabilities:
    """What the other side takes. However many executions want to know, it is asked once."""

    def __init__(self, calls: ConduitCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock
        self._known: Dialect | None = None
        self._until = 0.0
        self._asking: asyncio.Task[Dialect] | None = None

    async def dialect(self) -> Dialect:
        """Raises BackendUnavailable."""
        if self._known is not None and self._clock.boottime() < self._until:
            return self._known
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask(), name="capabilities")
            self._asking.add_done_callback(self._asked)
        return await asyncio.shield(self._asking)

    def learn(self, dialect: Dialect) -> None:
        """An answer has shown that this is what the other side takes."""
        self._remember(dialect, ASK_AGAIN)

    def forget(self) -> None:
        """The other side was away, and may come back as another one."""
        self._known = None

    async def _ask(self) -> Dialect:
        try:
            answer = await self._calls.call(PROBE, PROBE_TIMEOUT)
        except UndeclaredParameters as refused:
            return self._remember(dialect_without(refused.names), ASK_AGAIN)
        except LeaseLost:
            # No such lease, indeed: only version 1 looks.
            return self._remember(VERSION_1, ASK_AGAIN)
        if answer.unknown:
            _log.warning("worker.execute does not say what it can do", reason=answer.unknown)
            return self._remember(SEED, ASK_AGAIN_SOON)
        dialect = dialect_of_result(None if answer.error else answer.result)
        return self._remember(dialect, float("inf") if dialect.versioned else ASK_AGAIN)

    def _remember(self, dialect: Dialect, seconds: float) -> Dialect:
        if dialect != self._known:
            _log.info("worker.execute", version=int(dialect.versioned), parameters=sorted(dialect.declared))
        self._known, self._until = dialect, self._clock.boottime() + seconds
        return dialect

    def _asked(self, asking: asyncio.Task[Dialect]) -> None:
        self._asking = None
        if not asking.cancelled():
            asking.exception()  # whoever waits for it has got it; when nobody does any more, it is no news
