"""A Git repository to import, and a server for it: Phorge imports from no folder of its own machine."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from pathlib import Path
from typing import Self

from phorge.support.background import Background
from support.mariadb import free_port
from support.waiting import until


def commit_some(folder: Path, count: int, *, by: str) -> None:
    """Makes a repository with so many commits, each with an author of its own.

    Two tasks that meet a new author at the same time both write him down, and Phorge has one of them fail and be tried
    again minutes later.
    """
    folder.mkdir()
    _git(folder, "init", "--initial-branch=master")
    for number in range(count):
        (folder / f"file-{number}").write_text(f"{number}\n" * 10)
        _git(folder, "add", ".")
        who = ("-c", f"user.name={by} {number}", "-c", f"user.email={by}-{number}@mail.invalid")
        _git(folder, *who, "commit", "--message", f"Commit {number}")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S607 - of PATH


class GitServer(Background):
    """Serves the repositories in a folder; it answers when the context is entered."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        address = ["--listen=127.0.0.1", f"--port={self.port}", "--reuseaddr"]
        super().__init__(
            ["git", "daemon", *address, f"--base-path={folder}", "--export-all", folder], folder / "git.log"
        )

    def __enter__(self) -> Self:
        asyncio.run(until(self._answers, within=30, what="git daemon answers"))
        return self

    def url(self, name: str) -> str:
        return f"git://127.0.0.1:{self.port}/{name}/.git"

    def _answers(self) -> bool:
        self.assert_runs()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
