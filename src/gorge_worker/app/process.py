"""The process: its event loop, its signals, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine

import structlog
import uvloop

FAILED = 1

_log = structlog.get_logger()


class Signals:
    """SIGTERM and SIGINT: the first asks for an orderly end, a second for an end now, a third ends the process."""

    def __init__(self) -> None:
        self._asked = 0
        self._first, self._second = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._take, signal.Signals(number))

    def _take(self, number: signal.Signals) -> None:
        self._asked += 1
        _log.info("signal", signal=number.name, times=self._asked)
        if not self._first.is_set():
            self._first.set()
        elif not self._second.is_set():
            self._second.set()
        else:
            os._exit(FAILED)

    async def first(self) -> None:
        await self._first.wait()

    async def second(self) -> None:
        await self._second.wait()


def run_service(main: Callable[[Signals], Coroutine[None, None, bool]]) -> int:
    """Runs a service in the process's event loop until it ends; 0 when it ended in good order."""

    async def run() -> int:
        if await main(Signals()):
            return 0
        # What could not be ended is still there, a handler in a thread perhaps: the interpreter would wait for it.
        os._exit(FAILED)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())
