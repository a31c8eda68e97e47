"""Naming what blocks the event loop: a handler that computes or waits without `await` stops every other task."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback

import structlog

CHECK = 1.0
"""Seconds between two looks at the loop."""
PATIENCE = 1.0
"""Seconds without a sign of life after which the loop counts as blocked."""

_log = structlog.get_logger()


class Watchdog:
    """A thread that watches one event loop, started from within it. Each blockage is logged once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(CHECK):
            alive = threading.Event()
            try:
                self._loop.call_soon_threadsafe(alive.set)
            except RuntimeError:  # the loop is closed
                return
            if not alive.wait(PATIENCE) and not self._stopped.is_set():
                self._name_culprit()
                while not alive.wait(CHECK) and not self._stopped.is_set():
                    pass

    def _name_culprit(self) -> None:
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 (the documented way to see another thread's stack)
        where = traceback.format_stack(frame)[-1].strip() if frame else ""
        _log.error(
            "the event loop is blocked, nothing else can run",
            running=task.get_name() if task else "",
            where=" ".join(where.split()),
            seconds=PATIENCE,
        )
