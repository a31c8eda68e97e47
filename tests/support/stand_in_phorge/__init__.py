"""A stand-in for an installed Phorge: small PHP files of ours that behave as Phorge does towards the product's own."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gorge_worker.phorge.installation import Installation
from support import mariadb
from support.groups import members
from support.mariadb import MariaDb
from support.php_side import Php
from support.waiting import until

SOURCE = Path(__file__).parent
UP = 15.0
"""Seconds that PHP's web server gets to start or to end, and a script to be done."""
CONFIG_TABLES = (
    """CREATE TABLE config_entry (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, namespace VARCHAR(64) NOT NULL,
        configKey VARCHAR(64) NOT NULL, value LONGTEXT NOT NULL, isDeleted TINYINT(1) NOT NULL,
        UNIQUE KEY key_name (namespace, configKey)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin""",
    "CREATE TABLE config_transaction (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB",
)

Note = dict[str, Any]


@dataclass(frozen=True)
class StandIn:
    """The copy in a folder. Without a server it has no database."""

    root: Path
    namespace: str = ""
    server: MariaDb | None = None

    @property
    def local_file(self) -> Path:
        return self.root / "conf/local/local.json"

    @property
    def record(self) -> Path:
        """Where task classes note what they have done, unless their data names another file."""
        return self.root.parent / "record"

    @property
    def queue_url(self) -> str:
        """Of the database with the queue's tables."""
        return self._server.url(f"{self.namespace}_worker")

    @property
    def _server(self) -> MariaDb:
        assert self.server is not None, "this stand-in was made without a database"
        return self.server

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = json.loads(self.local_file.read_text())
        return options

    def set_option(self, name: str, value: object) -> None:
        """As `bin/config set` does, in the local file."""
        self.local_file.write_text(json.dumps({**self.options(), name: value}, indent=2))

    def set_in_database(self, name: str, value: object) -> None:
        """As the web interface does: it leaves a transaction, by which PHP processes notice."""
        with self.database("config") as php:
            php.run(
                "REPLACE INTO config_entry (namespace, configKey, value, isDeleted) VALUES ('default', %s, %s, 0)",
                name,
                json.dumps(value),
            )
            php.run("INSERT INTO config_transaction VALUES ()")

    def install_extension(self) -> None:
        """The product's PHP files, as `gorge-worker phorge install` does."""
        Installation(self.root).install()

    @contextlib.contextmanager
    def database(self, application: str = "worker") -> Iterator[Php]:
        """A connection to one of its databases."""
        php = Php(self._server.connect(f"{self.namespace}_{application}"))
        try:
            yield php
        finally:
            php.close()

    def executed(self, file: Path | None = None) -> list[Note]:
        """What task classes have noted, in order."""
        path = file or self.record
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    async def noted(self, count: int = 1, **fields: object) -> list[Note]:
        """The notes with these fields, as soon as there are so many."""

        def found() -> list[Note]:
            return [note for note in self.executed() if fields.items() <= note.items()]

        await until(lambda: len(found()) >= count, within=UP, what=f"{count} notes with {fields} in {self.record}")
        return found()

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        """Runs PHP statements in a PHP that has loaded it as a script does."""
        # From a script: what "php -r" runs has no handler of exceptions.
        script = f"<?php require {json.dumps(str(self.root / 'scripts/init/init-script.php'))}; {code}"
        command = ["php", "-d", "display_errors=stderr"]
        return subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=UP)

    @contextlib.asynccontextmanager
    async def serving(self, workers: int = 1) -> AsyncIterator[str]:
        """Its web server, up, on a free port of loopback; yields the URL. It answers `workers` calls at a time."""
        port = mariadb.free_port()
        settings = {"PHP_CLI_SERVER_WORKERS": str(workers)} if workers > 1 else {}
        log = self.root.parent / f"web-{port}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *("php", "-S", f"127.0.0.1:{port}", "-t", self.root / "webroot", self.root / "webroot/index.php"),
                stdin=DEVNULL,
                stdout=output,
                stderr=output,
                env={"PATH": os.environ["PATH"], **settings},
                start_new_session=True,
            )
        try:
            await until(lambda: process.returncode is not None or listens(port), within=UP, what=f"a server, see {log}")
            assert process.returncode is None, log.read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            # Its workers are processes of their own, and go on when it alone is killed.
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            await until(lambda: not members(process.pid), within=UP, what="the end of PHP's web server")


def listens(port: int) -> bool:
    """Whether somebody listens there, as the kernel shows it: a connection would be a call that nobody completes."""
    address = f"0100007F:{port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return any(row[1] == address and row[3] == "0A" for row in rows)


def make_phorge(folder: Path, database: MariaDb | None = None, **options: object) -> StandIn:
    """Copies the stand-in into the folder, creates its databases on the server, and configures it."""
    for name in ("phorge", "arcanist"):
        shutil.copytree(SOURCE / name, folder / name)
    # The same for the same folder, and not to be met by another test's on the same server.
    namespace = f"standin_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    phorge = StandIn(folder / "phorge", namespace, database)
    phorge.local_file.parent.mkdir(parents=True)
    settings: dict[str, object] = {"storage.default-namespace": namespace, "stand-in.record": str(phorge.record)}
    if database is not None:
        settings |= {"mysql.host": "127.0.0.1", "mysql.port": str(database.port)}
        settings |= {"mysql.user": mariadb.USER, "mysql.pass": mariadb.PASSWORD}
        for application in ("worker", "config"):
            database.create_database(f"{namespace}_{application}")
        with phorge.database("worker") as php:
            php.create_tables()
        with phorge.database("config") as php:
            for statement in CONFIG_TABLES:
                php.run(statement)
    phorge.local_file.write_text(json.dumps(settings | options, indent=2))
    return phorge
