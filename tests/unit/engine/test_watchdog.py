from __future__ import annotations

import asyncio
import time

from structlog.testing import capture_logs

from gorge_worker.engine.watchdog import PATIENCE, Watchdog


async def test_what_blocks_the_event_loop_is_named_once_with_its_place() -> None:
    async def blocking_handler() -> None:
        time.sleep(4 * PATIENCE)  # noqa: ASYNC251 (this is what the watchdog is for)

    watchdog = Watchdog()
    with capture_logs() as logs:
        watchdog.start()
        await asyncio.create_task(blocking_handler(), name="task 7 SlowWorker")
        watchdog.stop()
    [line] = [line for line in logs if "blocked" in line["event"]]
    assert line["running"] == "task 7 SlowWorker"
    assert "blocking_handler" in line["where"]


async def test_a_loop_that_works_is_not_complained_about() -> None:
    watchdog = Watchdog()
    with capture_logs() as logs:
        watchdog.start()
        await asyncio.sleep(0)
        watchdog.stop()
    assert logs == []
