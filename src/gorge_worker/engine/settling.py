"""Outcomes that can't be reported yet: it is not known how their leases stand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from gorge_worker.engine.held import Held

_log = structlog.get_logger()


class Settling:
    """Has leases settled, all that wait for it at once, without holding up reports under other leases.

    `settle` is Renewals.settle; `settled` gets each batch back, settled or still in doubt.
    """

    def __init__(
        self, settle: Callable[[Sequence[Held]], Awaitable[None]], settled: Callable[[Sequence[Held]], None]
    ) -> None:
        self._settle = settle
        self._settled = settled
        self._waiting: list[Held] = []
        self._call: asyncio.Task[None] | None = None

    def add(self, held: Held) -> None:
        self._waiting.append(held)
        if self._call is None:
            self._begin()

    async def stop(self) -> None:
        self._waiting.clear()
        if self._call is not None:
            self._call.cancel()
            await asyncio.wait([self._call])

    def _begin(self) -> None:
        self._call = asyncio.create_task(self._once(), name="settling")
        self._call.add_done_callback(self._ended)

    async def _once(self) -> None:
        batch, self._waiting = self._waiting, []
        await self._settle(batch)
        self._settled(batch)

    def _ended(self, call: asyncio.Task[None]) -> None:
        self._call = None
        if not call.cancelled() and (error := call.exception()):
            _log.error("the engine failed", exc_info=error)
        if self._waiting:
            self._begin()
