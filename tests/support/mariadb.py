"""A private MariaDB server for tests, on a folder, a socket and a loopback port of its own."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pymysql
from pymysql.connections import Connection

COMMANDS = ("mariadbd", "mariadb-install-db")
DURABLE = ("--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M")
"""For benchmarks: as a server is run that must lose nothing in a power cut."""
USER, PASSWORD = "gorge", "p@ss/w:rd"
READY_WITHIN = 60.0
PORT_VARIABLE = "TEST_MARIADB_PORT"
"""Tells processes that a test starts where its server is."""

Rows = Sequence[tuple[Any, ...]]


def installed() -> bool:
    return all(map(_which, COMMANDS))


def _which(command: str) -> str | None:
    """The path of a command that may be where only an administrator's PATH leads."""
    return shutil.which(command, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))


def find(command: str) -> str:
    path = _which(command)
    if path is None:
        raise RuntimeError(f"{command} is missing: install Debian's mariadb-server")
    return path


class MariaDb:
    """Keeps its data when it is killed; `restart` brings it back on the same port. Times of `clock` are not its own."""

    def __init__(self, folder: Path, port: int | None = None, options: Sequence[str] = ()) -> None:
        self.folder = folder
        self._holder: socket.socket | None = None
        if port is None:
            self._holder, port = hold_port()
        self.port = port
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    def install(self) -> None:
        command = [find("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}"]
        command += ["--auth-root-authentication-method=normal", "--skip-test-db", *self._in_folder(), *_as_user()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"mariadb-install-db failed:\n{done.stdout}{done.stderr}")

    def start(self) -> None:
        """Starts it and returns when it answers."""
        command = [find("mariadbd"), "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}"]
        command += [f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve"]
        command += [*self._in_folder(), *_as_user()]
        # What a killed process has written, the kernel still has: only a power cut needs more.
        command += ["--innodb-flush-log-at-trx-commit=2", "--innodb-file-per-table=0", "--innodb-buffer-pool-size=64M"]
        command += ["--performance-schema=OFF", "--max-connections=200", *self._options]
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_die_with_parent)  # noqa: PLW1509
        log.close()
        end = time.monotonic() + READY_WITHIN
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"mariadbd did not start:\n{(self.folder / 'log').read_text()[-3000:]}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        # The driver leaves a socket open that it could not connect.
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(self.socket)):
                return False
        with contextlib.suppress(pymysql.err.MySQLError):
            self.connect().close()
            return True
        return False

    def _in_folder(self) -> list[str]:
        """Two servers that start at the same time must not share their temporary tables."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        return [f"--tmpdir={temporary}"]

    def create_user(self) -> None:
        self.execute(f"CREATE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        self.execute(f"GRANT ALL ON *.* TO '{USER}'@'127.0.0.1'")
        self.execute(f"CREATE USER '{USER}'@'localhost' IDENTIFIED BY '{PASSWORD}'")
        self.execute(f"GRANT ALL ON *.* TO '{USER}'@'localhost'")

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it as a power cut would, but for what the kernel has."""
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
        if self._holder is not None:
            self._holder.close()

    def connect(self, database: str | None = None) -> Connection[Any]:
        """As the server's own administrator."""
        connection = pymysql.connect(
            unix_socket=str(self.socket), user="root", database=database, autocommit=True, charset="utf8mb4"
        )
        return cast("Connection[Any]", connection)

    def execute(self, statement: str, values: Sequence[object] = (), *, database: str | None = None) -> Rows:
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cast("Rows", cursor.fetchall())

    def create_database(self, name: str) -> str:
        """Creates an empty database where there is none of that name, and returns its URL."""
        self.execute(f"CREATE DATABASE IF NOT EXISTS `{name}` DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin")
        return self.url(name)

    def url(self, database: str) -> str:
        return f"mysql://{USER}:p%40ss%2Fw%3Ard@127.0.0.1:{self.port}/{database}"


_shared: list[MariaDb] = []


def shared() -> MariaDb:
    """The server of this test process, started when it is first needed; nobody kills it."""
    if not _shared:
        if port := os.environ.get(PORT_VARIABLE):
            number, _, folder = port.partition(":")
            _shared.append(MariaDb(Path(folder), int(number)))
            return _shared[0]
        server = new_server(Path(tempfile.mkdtemp(prefix="mariadb-")))
        os.environ[PORT_VARIABLE] = f"{server.port}:{server.folder}"
        _shared.append(server)
        atexit.register(end_shared)
    return _shared[0]


def end_shared() -> None:
    while _shared:
        server = _shared.pop()
        if server._process is not None:
            os.environ.pop(PORT_VARIABLE, None)
            server.stop()
            shutil.rmtree(server.folder, ignore_errors=True)


def new_server(folder: Path, options: Sequence[str] = ()) -> MariaDb:
    server = MariaDb(folder, options=options)
    server.install()
    server.start()
    server.create_user()
    return server


@contextlib.contextmanager
def own_server(options: Sequence[str] = (), below: Path | None = None) -> Iterator[MariaDb]:
    """A server that a test may kill."""
    # Not below pytest's folder: a socket's path has a length that is soon reached.
    folder = Path(tempfile.mkdtemp(prefix="mariadb-", dir=below))
    server = new_server(folder, options)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def clocked(epoch: Callable[[], float], version: str | None = None) -> type[Any]:
    """A connection whose server's clock shows a test's time, and which may say that it is of another version."""

    class Clocked(Connection):
        def query(self, sql: Any, unbuffered: bool = False) -> int:  # noqa: FBT001, FBT002 (the driver's)
            if sql == "SELECT UNIX_TIMESTAMP()":
                super().query(f"SET timestamp = {int(epoch())}")
            return super().query(sql, unbuffered)

        def get_server_info(self) -> str:
            return version or str(super().get_server_info())  # type: ignore[no-untyped-call]

    return Clocked


def _as_user() -> list[str]:
    return [f"--user={getpass.getuser()}"] if os.geteuid() == 0 else []


def _die_with_parent() -> None:
    """A test process that is killed leaves no server behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def hold_port() -> tuple[socket.socket, int]:
    """A port that nobody else gets as long as the socket is open, not even a client that is about to connect to it.

    A server may share it, whose sockets have the same option, as long as this one does not listen.
    """
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return holder, int(holder.getsockname()[1])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
