"""What a queue server carries over HTTP: one task a call, from many clients at once, on SQLite and on MariaDB.

Usage: python benchmarks/queue_server.py [FOLDER]   (a folder on the disk to be measured; needs less than two minutes)
Both with full durability. The clients run in processes of their own, and share the machine with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import mariadb

from gorge_worker.http_client import HttpClient

CONNECTIONS = 64
TASKS = 20_000
BATCH = 100
ROUNDS = 3
ENQUEUE = msgspec.json.encode({"taskClass": "PhabricatorSearchWorker", "data": '{"documentPHID":"PHID-TASK-x"}'})
HEADERS = {"Content-Type": "application/json"}


class Caller:
    """Makes calls over its connections, each as soon as the last one on it is answered."""

    def __init__(self, url: str) -> None:
        self._http = HttpClient(url, headers=HEADERS, connections=CONNECTIONS)
        self._owners = 0

    async def call(self, route: str, body: bytes, **headers: str) -> bytes:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"/api/queue/{route}"
        answer = await self._http.request("POST", path, body=body, headers=names, timeout=60, max_answer=1 << 24)
        if answer.status != 200:
            raise AssertionError(f"{route}: {answer.status} {answer.body!r}")
        return answer.body

    async def enqueue(self) -> int:
        await self.call("enqueue", ENQUEUE)
        return 1

    async def lease_and_finalize(self, limit: int = 1) -> int:
        self._owners += 1
        owner = f"bench:{os.getpid()}:{self._owners}"
        body = await self.call("lease", msgspec.json.encode({"limit": limit}), X_Lease_Owner=owner)
        tasks = msgspec.json.decode(body)["data"]
        await asyncio.gather(*(self._finalize(task) for task in tasks))
        return len(tasks)

    async def _finalize(self, task: dict[str, object]) -> None:
        lease = {"taskID": task["id"], "leaseOwner": task["leaseOwner"], "leaseExpires": task["leaseExpires"]}
        await self.call("finalize", msgspec.json.encode(lease | {"duration": 1000}))

    async def repeat(self, step: Callable[[], Awaitable[int]], count: int, callers: int) -> float:
        """Tasks a second."""
        done, began = 0, time.perf_counter()

        async def one() -> None:
            nonlocal done
            while done < count and (number := await step()):
                done += number

        await asyncio.gather(*(one() for _ in range(callers)))
        return done / (time.perf_counter() - began)

    async def close(self) -> None:
        await self._http.close()


async def measure(url: str) -> dict[str, float]:
    caller = Caller(url)
    rates = {
        "enqueue, one a call": await caller.repeat(caller.enqueue, TASKS, CONNECTIONS),
        "lease to archive, one a call": await caller.repeat(caller.lease_and_finalize, TASKS // 2, CONNECTIONS),
        f"lease {BATCH}, archive one a call": await caller.repeat(
            lambda: caller.lease_and_finalize(BATCH), TASKS // 2, 4
        ),
    }
    await caller.close()
    return rates


@contextlib.contextmanager
def server(store: str, *options: str) -> Iterator[str]:
    port = mariadb.free_port()
    command = [sys.executable, "-m", "gorge_worker", "queue", "--store", store, "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, *options], env={**os.environ, "LOG_LEVEL": "warning"})
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            with contextlib.suppress(OSError), urlopen(f"{url}/healthz", timeout=1):  # noqa: S310 - our own server
                break
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()


def run(name: str, store: str, *options: str) -> None:
    for number in range(1, ROUNDS + 1):
        with server(store.format(number=number), *options) as url:
            for what, rate in asyncio.run(measure(url)).items():
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
