"""What a queue server carries over HTTP: one task a call, from many clients at once, on SQLite and on MariaDB.

Usage: python benchmarks/queue_server.py [FOLDER]   (a folder on the disk to be measured; needs less than two minutes)
Both with full durability. The clients share the machine with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import cast
from urllib.request import urlopen

import msgspec
import uvloop

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import mariadb

CONNECTIONS = 64
TASKS = 20_000
BATCH = 100
ROUNDS = 3
ENQUEUE = msgspec.json.encode({"taskClass": "PhabricatorSearchWorker", "data": '{"documentPHID":"PHID-TASK-x"}'})
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")


class Lease(msgspec.Struct):
    """The parts of a lease, by their columns' names."""

    id: int
    leaseOwner: str  # noqa: N815 (see above)
    leaseExpires: int  # noqa: N815 (see above)


class Leased(msgspec.Struct):
    """What a lease's answer has in its envelope."""

    data: list[Lease]


LEASED = msgspec.json.Decoder(Leased)


class Connection(asyncio.Protocol):
    """One keep-alive connection, one call at a time. It does little: it shares the machine with the server."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        size = int(LENGTH.search(head)[1])  # type: ignore[index]
        if len(body) >= size and self._answer is not None:
            self._buffer = b""
            if not head.startswith(b"HTTP/1.1 200"):
                self._answer.set_exception(AssertionError(head + body))
            else:
                self._answer.set_result(body)

    async def call(self, route: str, body: bytes, headers: str = "") -> bytes:
        self._answer = asyncio.get_running_loop().create_future()
        head = f"POST /api/queue/{route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return await self._answer


class Client:
    """Makes calls on its connections, each as soon as the last one on it is answered."""

    def __init__(self, connections: list[Connection]) -> None:
        self._connections = connections
        self._owners = 0

    @classmethod
    async def open(cls, port: int) -> Client:
        loop = asyncio.get_running_loop()
        made = [await loop.create_connection(Connection, "127.0.0.1", port) for _ in range(CONNECTIONS)]
        return cls([connection for _, connection in made])

    async def enqueue(self, connection: Connection) -> int:
        await connection.call("enqueue", ENQUEUE)
        return 1

    async def lease_and_finalize(self, connection: Connection, limit: int = 1) -> int:
        self._owners += 1
        owner = f"X-Lease-Owner: bench:{os.getpid()}:{self._owners}\r\n"
        leased = LEASED.decode(await connection.call("lease", b'{"limit":%d}' % limit, owner)).data
        for task in leased:
            lease = {"taskID": task.id, "leaseOwner": task.leaseOwner, "leaseExpires": task.leaseExpires}
            await connection.call("finalize", msgspec.json.encode(lease | {"duration": 1000}))
        return len(leased)

    async def lease_many(self, connection: Connection) -> int:
        return await self.lease_and_finalize(connection, BATCH)

    async def repeat(self, step: Callable[[Connection], Awaitable[int]], count: int) -> float:
        """Tasks a second."""
        done, began = 0, time.perf_counter()

        async def one(connection: Connection) -> None:
            nonlocal done
            while done < count and (number := await step(connection)):
                done += number

        await asyncio.gather(*(one(connection) for connection in self._connections))
        return done / (time.perf_counter() - began)


async def measure(port: int) -> dict[str, float]:
    client = await Client.open(port)
    return {
        "enqueue, one a call": await client.repeat(client.enqueue, TASKS),
        "lease to archive, one a call": await client.repeat(client.lease_and_finalize, TASKS // 2),
        f"lease {BATCH}, archive one a call": await client.repeat(client.lease_many, TASKS // 2),
    }


@contextlib.contextmanager
def server(store: str, *options: str) -> Iterator[int]:
    port = mariadb.free_port()
    command = [sys.executable, "-m", "gorge_worker", "queue", "--store", store, "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, *options], env={**os.environ, "LOG_LEVEL": "warning"})
    try:
        while True:
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1):
                break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def run(name: str, store: str, *options: str) -> None:
    for number in range(1, ROUNDS + 1):
        with server(store.format(number=number), *options) as port:
            for what, rate in uvloop.run(measure(port)).items():
                print(f"{name:8} round {number}  {what:36} {rate:8.0f} tasks/s", flush=True)


def main(folder: Path) -> None:
    run("SQLite", f"sqlite:///{folder}/queue{{number}}.db")
    if not mariadb.installed():
        print(f"MariaDB: not measured, this machine lacks {' or '.join(mariadb.COMMANDS)}")
        return
    with mariadb.own_server(mariadb.DURABLE, folder) as database:
        for number in range(1, ROUNDS + 1):
            database.create_database(f"queue{number}")
        run("MariaDB", database.url("queue{number}"), "--create-schema")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as made:
        main(Path(made))
