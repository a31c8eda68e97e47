"""A process that outlives the worker by a moment, and ends what it has left behind."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

SCRIPT = r"""
groups=
while read -r sign group; do
    case $sign in
        +) groups="$groups $group" ;;
        -)
            left=
            for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
            groups=$left
            ;;
    esac
done
for one in $groups; do kill -s KILL -- "-$one" 2>/dev/null; done
rm -rf -- "$1"
"""
"""Reads "+ group" and "- group" until the worker's end closes its input. A plain shell is 1 MB and needs nothing."""


class Guard:
    """Kills the process groups that it was told of when this process has ended, however that came about: a PHP that
    went on would execute a task that another worker begins again. `folder` is removed then.

    The parent-death signal of Linux would reach PHP, but not the programs that its tasks have started.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._groups: set[int] = set()
        self._process: Process | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Starts it unless it runs already. Raises OSError."""
        async with self._starting:
            if self._process is not None and self._process.returncode is None:
                return
            self._process = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                SCRIPT,
                "gorge-worker-guard",
                str(self._folder),
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=DEVNULL,
                env={},
                start_new_session=True,
            )
            for group in self._groups:
                self._tell("+", group)

    def watch(self, group: int) -> None:
        self._groups.add(group)
        self._tell("+", group)

    def forget(self, group: int) -> None:
        self._groups.discard(group)
        self._tell("-", group)

    async def close(self) -> None:
        """Ends it, and waits until the folder is gone."""
        if self._process is None:
            shutil.rmtree(self._folder, ignore_errors=True)  # as `rm -rf` does: it may have been cleaned away
            return
        if self._process.stdin:
            self._process.stdin.close()
        await self._process.wait()

    def _tell(self, sign: str, group: int) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.returncode is None:
            process.stdin.write(f"{sign} {group}\n".encode())
