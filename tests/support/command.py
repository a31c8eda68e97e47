"""The product's command as a process."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

COMMAND = (sys.executable, "-m", "gorge_worker")
NEEDED = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH")


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """What a process needs, and these settings of the product's alone."""
    return {name: os.environ[name] for name in NEEDED if name in os.environ} | dict(settings)


@dataclass(frozen=True)
class Ended:
    code: int | None
    out: str
    err: str


async def run(
    *arguments: str, settings: Mapping[str, str] | None = None, stdin: bytes = b"", folder: Path | None = None
) -> Ended:
    """Runs a command to its end."""
    async with started(*arguments, settings=settings, folder=folder) as process:
        out, err = await process.communicate(stdin)
    assert "Traceback" not in err.decode(), err.decode()
    return Ended(process.returncode, out.decode(), err.decode())


@asynccontextmanager
async def started(
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stderr: int = PIPE,
    command: Sequence[str] = COMMAND,
) -> AsyncIterator[Process]:
    """A command that goes on running; killed at the end if it still does. `stderr` is a descriptor, or a pipe to us."""
    process = await asyncio.create_subprocess_exec(
        *command, *arguments, env=environment(settings or {}), stdin=PIPE, stdout=PIPE, stderr=stderr, cwd=folder
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
