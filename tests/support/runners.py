"""Pools of PHP runners on a stand-in for Phorge, and what tests ask of them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from gorge_worker.backends.php_runner.launching import Launch
from gorge_worker.backends.php_runner.pool import RunnerPool
from gorge_worker.model import Lease, Task
from support.groups import members
from support.phorge_tree import StandIn


class Runners:
    """A pool, and the PHP processes that it has started."""

    def __init__(self, pool: RunnerPool, started: list[int]) -> None:
        self.pool = pool
        self.started = started

    @property
    def alive(self) -> list[int]:
        """The groups of started processes of which something still runs, be it a program that a task has started."""
        return [pid for pid in self.started if members(pid)]


@contextlib.asynccontextmanager
async def runners(phorge: StandIn, *, most: int = 4, idle: float = 600.0, **options: Any) -> AsyncIterator[Runners]:
    """A pool; at its end nothing that it has started may be left."""
    pool = RunnerPool(Launch(root=phorge.root, **options), most=most, idle=idle)
    opened = Runners(pool, [])
    start = pool._start

    async def remembering() -> Any:
        runner = await start()
        opened.started.append(runner.pid)
        return runner

    pool._start = remembering  # type: ignore[method-assign]
    try:
        yield opened
    finally:
        await pool.close()
    assert pool._folder is None or not pool._folder.exists()


def task(
    do: str = "Nothing", task_class: str = "StandInWorker", *, fields: dict[str, Any] | None = None, **data: Any
) -> Lease:
    """A leased task that does that; `fields` are the task's own."""
    text = json.dumps({"do": do, **data})
    return leased(Task(id=41, task_class=task_class, data=text, **(fields or {})))


def leased(of: Task) -> Lease:
    return Lease(task=of, owner="4711:1:host:1", expires=int(time.time()) + 300, ends_at=1e9)


def told(file: Path) -> Any:
    return json.loads(file.read_text())


def printed(logs: Sequence[Any]) -> list[str]:
    """What tasks have printed, of captured logs."""
    return [line["output"] for line in logs if line["event"] == "php printed" and "task" in line]
