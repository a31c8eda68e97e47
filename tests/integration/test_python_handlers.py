"""Python handlers with the engine around them, and modules as a started process finds them."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest
from structlog.testing import capture_logs
from structlog.types import EventDict
from support.memory_queue import MemoryQueue
from support.waiting import until

from gorge_worker.clock import SystemClock
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.worker import Worker
from gorge_worker.handlers.setup import HandlerChoice, build_handlers

MODULE = """
import asyncio, threading
from gorge_worker import PermanentFailure, YieldTask, task_handler

go_on = threading.Event()

@task_handler("Overrun", timeout=0.05)
def overrun(context):
    go_on.wait(10)

@task_handler("Parent")
async def parent(context):
    await asyncio.sleep(0)
    context.follow_up("Child", context.data())

@task_handler("Gone")
def gone(context):
    raise PermanentFailure("gone")

@task_handler("Later")
async def later(context):
    raise YieldTask(30)

@task_handler("Broken", retry_wait=lambda failures: 15 * failures)
def broken(context):
    raise StopIteration
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "engine_handlers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "engine_handlers"
    del sys.modules["engine_handlers"]


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


class Running:
    """A worker with the module's handlers on a queue in memory."""

    def __init__(self, module: str, executor: ThreadPoolExecutor) -> None:
        clock = SystemClock()
        self.queue = MemoryQueue(clock)
        handlers = build_handlers(HandlerChoice(modules=[module]), executor=executor, clock=clock)
        self.worker = Worker(
            queue=self.queue,
            registry=handlers.registry,
            options=EngineOptions(max_workers=2),
            clock=clock,
            rng=random.Random(1),
            hide_secrets=str,
        )

    async def __aenter__(self) -> Self:
        self._run = asyncio.create_task(self.worker.run())
        return self

    async def __aexit__(self, *failure: object) -> None:
        self.worker.drain()
        await self._run


async def test_every_outcome_of_a_handler_reaches_the_queue(module: str, executor: ThreadPoolExecutor) -> None:
    async with Running(module, executor) as running:
        ids = {name: running.queue.add(name, data="5") for name in ("Parent", "Gone", "Later", "Broken")}
        await until(lambda: all(running.queue.verdicts(one) for one in ids.values()))
    by_id = {report.lease.task.id: report.outcome for report in running.queue.accepted}
    assert {name: str(by_id[one].verdict) for name, one in ids.items()} == {
        "Parent": "success",
        "Gone": "permanent-failure",
        "Later": "yield",
        "Broken": "failure",
    }
    assert [(task.task_class, task.data) for task in by_id[ids["Parent"]].followups] == [("Child", "5")]
    assert by_id[ids["Broken"]].wait == 15


async def test_a_thread_that_overruns_keeps_its_slot_and_then_counts_as_a_time_out(
    module: str, executor: ThreadPoolExecutor
) -> None:
    with capture_logs() as logs:
        async with Running(module, executor) as running:
            await overrun_beside_others(running, sys.modules[module].go_on, logs)


async def overrun_beside_others(running: Running, go_on: threading.Event, logs: list[EventDict]) -> None:
    stuck = running.queue.add("Overrun")
    await until(lambda: "handler can't be stopped, it keeps its slot" in [line["event"] for line in logs])
    others = [running.queue.add("Parent", data="5") for _ in range(3)]
    await until(lambda: all(running.queue.verdicts(one) == ["success"] for one in others))
    assert (running.worker.stats.active, running.queue.verdicts(stuck)) == (1, [])
    go_on.set()
    await until(lambda: running.queue.verdicts(stuck))
    [report] = [one for one in running.queue.accepted if one.lease.task.id == stuck]
    assert report.outcome.reason.startswith("time-out")


def test_a_script_finds_modules_in_the_working_directory(tmp_path: Path) -> None:
    """A console script's import path begins with its own folder, not with the working directory."""
    script, here = tmp_path / "bin" / "script.py", tmp_path / "here"
    script.parent.mkdir()
    here.mkdir()
    script.write_text(
        "from gorge_worker.handlers.discovery import discover\n"
        "print([one.name for one in discover(['engine_handlers'])][0])\n"
    )
    (here / "engine_handlers.py").write_text(MODULE)
    done = subprocess.run([sys.executable, script], cwd=here, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "engine_handlers.overrun"
