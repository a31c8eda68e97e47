"""What executes the tasks: this project's worker in its two ways, and PHP's own taskmasters."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from phorge.support.background import Background
from phorge.support.install import BOT, Phorge
from support.command import COMMAND
from support.mariadb import free_port

RUNNER, CONDUIT, TASKMASTER = "runner", "conduit", "taskmaster"
"""The worker with PHP processes of its own, the worker that calls Phorge's web server, and Phorge without a worker."""


def executor(phorge: Phorge, kind: str, log: Path) -> Background:
    """One that is started."""
    return taskmasters(phorge, log) if kind == TASKMASTER else worker(phorge, kind, log)


def worker(phorge: Phorge, kind: str, log: Path, **settings: str) -> Background:
    """`gorge-worker run` on Phorge's own queue."""
    ways = {
        RUNNER: {"PHORGE_ROOT": str(phorge.root)},
        CONDUIT: {
            "CONDUIT_URL": phorge.web.url,
            "CONDUIT_TOKEN": phorge.accounts[BOT].token,
            "DELEGATE_CLASSES": "*",
        },
    }
    shared = {
        "TASK_QUEUE_URL": phorge.queue.url,
        "LISTEN_ADDR": f"127.0.0.1:{free_port()}",
        "MAX_WORKERS": "2",
        "POLL_INTERVAL_MS": "100",
        "LOG_FORMAT": "json",
    }
    return Background([*COMMAND, "run"], log, settings=shared | ways[kind] | settings)


def taskmasters(phorge: Phorge, log: Path, *, count: int = 1) -> Background:
    """So many of PHP's own taskmasters, each in a pool of its own: they are all there from the start."""
    pools = [{"class": "PhabricatorTaskmasterDaemon", "label": f"suite-{number}", "pool": 1} for number in range(count)]
    folder = phorge.root / "scripts/daemon"
    return Background(
        [folder / "phd-daemon", "--verbose"],
        log,
        folder=folder,
        stdin=json.dumps({"daemons": pools}).encode(),
    )


def install_extension(phorge: Phorge) -> None:
    """Has Phorge's web server execute tasks for the suite's bot."""
    subprocess.run([*COMMAND, "phorge", "install", "--root", phorge.root], check=True, capture_output=True)
    phorge.command("config", "set", "gorge-worker.callers", json.dumps([BOT]))
