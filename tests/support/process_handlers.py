"""Task handlers for tests with real processes, copied into the folder where the process runs.

The file `executed` there gets a line for each execution that begins; the file `release` ends those that wait for it.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

from gorge_worker import PermanentFailure, TaskContext, YieldTask, task_handler


def record(context: TaskContext) -> None:
    line = f"{context.task.id} {context.task.task_class}\n"
    descriptor = os.open("executed", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def released() -> bool:
    return Path("release").exists()


@task_handler("Sync")
def sync(context: TaskContext) -> None:
    record(context)


@task_handler("Async")
async def async_(context: TaskContext) -> None:
    record(context)
    await asyncio.sleep(0.02)


@task_handler("Parent")
def parent(context: TaskContext) -> None:
    record(context)
    context.follow_up("Sync", {"parent": context.task.id})


@task_handler("Endless")
async def endless(context: TaskContext) -> None:
    context.follow_up("Endless", None)
    await asyncio.sleep(0.01)


@task_handler("FailsForGood")
def fails_for_good(context: TaskContext) -> None:
    record(context)
    raise PermanentFailure("not ever")


@task_handler("Yields")
def yields(context: TaskContext) -> None:
    record(context)
    raise YieldTask(60)


@task_handler("Raises")
async def raises(context: TaskContext) -> None:
    record(context)
    raise RuntimeError("not now")


@task_handler("FailsOnce", retry_wait=1)
def fails_once(context: TaskContext) -> None:
    record(context)
    if not context.failure_count:
        raise RuntimeError("once")


@task_handler("Hangs")
def hangs(context: TaskContext) -> None:
    record(context)
    threading.Event().wait()


@task_handler("Waits")
async def waits(context: TaskContext) -> None:
    record(context)
    while not released():  # noqa: ASYNC110 - another process makes the file
        await asyncio.sleep(0.01)


@task_handler("Blocks")
async def blocks(context: TaskContext) -> None:
    record(context)
    while not released():
        time.sleep(0.01)  # noqa: ASYNC251 - this is the fault to be found


@task_handler("Tells")
def tells(context: TaskContext) -> None:
    secrets = sorted(f"{name}={value}" for name, value in os.environ.items() if name.endswith(("_TOKEN", "_URL")))
    context.log.warning("telling", secrets=secrets)
    raise RuntimeError(" ".join(secrets))
