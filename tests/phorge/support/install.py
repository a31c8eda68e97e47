"""A Phorge that works, made for one run of the suite."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phorge.support.configuration import configure
from phorge.support.copying import copy
from phorge.support.database import Databases
from phorge.support.given import Given
from phorge.support.queue import Queue
from phorge.support.sinks import HttpSink, MailSink, serving
from phorge.support.web import Web
from support.mariadb import free_port

SCRIPTS = Path(__file__).with_name("php")
ADMIN, BOT, READER = "admin", "bot", "reader"
FEED, WEBHOOK = "/feed", "/webhook"
"""Paths at the HTTP sink."""
COMMAND_LIMIT = 120.0
"""Seconds that one command of Phorge may take."""


@dataclass(frozen=True)
class Account:
    phid: str
    token: str


@dataclass
class Phorge:
    """The copy, its databases and its web server, and where its mail and its posts end."""

    root: Path
    databases: Databases
    web: Web
    mail: MailSink
    http: HttpSink
    accounts: dict[str, Account]

    @property
    def folder(self) -> Path:
        """Where everything is; it is removed at the end."""
        return self.root.parent

    @property
    def queue(self) -> Queue:
        return Queue(self.databases)

    def command(self, name: str, *arguments: str) -> str:
        """Runs a command of Phorge's `bin` and returns what it has written."""
        return _run([self.root / "bin" / name, *arguments])

    def script(self, script: str, /, **given: object) -> Any:
        """Runs one of the suite's own scripts in PHP; what it gets and answers is JSON."""
        command = ["php", str(SCRIPTS / f"{script}.php")]
        return json.loads(_run(command, stdin=json.dumps(given), SUITE_PHORGE=str(self.root)))

    def call(self, method: str, *, by: str = ADMIN, **parameters: object) -> Any:
        """Calls a method of Conduit over HTTP and returns its result."""
        return self.web.conduit(method, self.accounts[by].token, parameters)

    def enqueue(self, task_class: str, data: object, *, count: int = 1, **options: object) -> list[int]:
        """Queues a task so many times, and returns the ids."""
        ids: list[int] = self.script("enqueue", tasks=[[task_class, data, options]], count=count)
        return ids


@contextlib.contextmanager
def installed(given: Given) -> Iterator[Phorge]:
    """Makes it, and removes all of it at the end, databases included."""
    with contextlib.ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gorge-phorge-")))
        databases = Databases(given.server, f"gorge{os.getpid()}")
        mail, http = MailSink(), HttpSink()
        ends.enter_context(serving(mail))
        ends.enter_context(serving(http))
        root = copy(given, folder)
        port = free_port()
        configure(
            root,
            given.server,
            namespace=databases.namespace,
            base=f"http://127.0.0.1:{port}/",
            hook=http.url(FEED),
            smtp_port=mail.port,
        )
        ends.callback(databases.drop)
        _run([root / "bin/storage", "upgrade", "--force"])
        web = ends.enter_context(Web(root, port))
        phorge = Phorge(root, databases, web, mail, http, accounts={})
        made = phorge.script("people", accounts={ADMIN: {"admin": True}, BOT: {"bot": True}, READER: {"admin": False}})
        phorge.accounts |= {name: Account(**account) for name, account in made.items()}
        for name in phorge.accounts:
            # With a user's first call Phorge makes a picture of him, and queues tasks that no test expects.
            phorge.call("user.whoami", by=name)
        phorge.script("webhook", name=ADMIN, uri=http.url(WEBHOOK))
        yield phorge


def _run(command: Sequence[str | Path], *, stdin: str = "", **settings: str) -> str:
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_LIMIT,
        env={**os.environ, **settings},
    )
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
