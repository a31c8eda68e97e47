"""The product's services as processes, on free ports of loopback, each with its log in a file.

They run at the debug level with tokens and with credentials in their URLs, and no log of any test may hold one.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from support.command import COMMAND, started
from support.waiting import until, until_true
from support.web import Answer, Server

QUEUE_TOKEN = "queue-token-11b5"
WORKER_TOKEN = "worker-token-2c81"
URL_PASSWORD = "url-password-93ef"
CONDUIT_TOKEN = "conduit-token-4d07"
CONDUIT_PASSWORD = "conduit-password-58aa"
SECRETS = (QUEUE_TOKEN, WORKER_TOKEN, URL_PASSWORD, CONDUIT_TOKEN, CONDUIT_PASSWORD)

HANDLERS = Path(__file__).with_name("process_handlers.py")
MODULE = "our_handlers"
UP = 15.0
"""Seconds that a process gets to start or to end, which takes a fraction of one on a machine that is not busy."""


@dataclass(frozen=True)
class Service:
    """A command that goes on running."""

    process: Process
    log_file: Path

    @property
    def text(self) -> str:
        """All that it has written to standard error."""
        return self.log_file.read_text()

    def events(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """The lines of its log for one event with these fields."""
        lines = [line for line in self.text.splitlines(keepends=True) if line.startswith("{") and line.endswith("\n")]
        found = [json.loads(line) for line in lines]
        return [one for one in found if one["event"] == event and fields.items() <= one.items()]

    async def logged(self, event: str, **fields: object) -> dict[str, Any]:
        """The first such line, when it is there."""
        await until(lambda: self.events(event, **fields), within=UP, what=f"{event!r} in {self.log_file}")
        return self.events(event, **fields)[0]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def code(self) -> int | None:
        """Its exit code, when it has ended."""
        await until(lambda: self.process.returncode is not None, within=UP, what=f"the end of {self.log_file}")
        return self.process.returncode

    async def terminate(self) -> int | None:
        self.signal(signal.SIGTERM)
        return await self.code()

    async def kill(self) -> None:
        self.process.kill()
        await self.code()


class Lab:
    """Services in one folder, around one queue: `async with Lab(folder) as lab`. At the end they are killed, and their
    logs are looked through for what no test wants to see.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = f"sqlite:///{folder}/data/queue.db"
        self.services: list[Service] = []
        self._ends = AsyncExitStack()

    async def __aenter__(self) -> Self:
        (self.folder / "data").mkdir()
        shutil.copy(HANDLERS, self.folder / f"{MODULE}.py")
        self.queue_port = self.port()
        # A connection for each call: none that a killed server has left behind.
        connector = aiohttp.TCPConnector(force_close=True)
        self._session = await self._ends.enter_async_context(aiohttp.ClientSession(connector=connector))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._ends.aclose()
        for service in self.services:
            if kind is not None:
                print(f"--- {service.log_file.name}\n{service.text[-6000:]}")  # noqa: T201 - pytest shows it
                continue
            assert not [secret for secret in SECRETS if secret in service.text]
            assert not service.events("the engine failed")
            assert "Task exception was never retrieved" not in service.text

    def port(self) -> int:
        """A port that nobody else gets, free for a service that is started here, also after another one's end."""
        holder = self._ends.enter_context(socket.socket())
        holder.bind(("127.0.0.1", 0))
        # From here on a server may share it, whose sockets have the same option, as long as this one does not listen.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port: int = holder.getsockname()[1]
        return port

    @property
    def queue_url(self) -> str:
        return url(self.queue_port)

    async def start(self, *arguments: str, command: Sequence[str] = COMMAND, **settings: str) -> Service:
        log_file = self.folder / f"{len(self.services)}-{arguments[0]}.log"
        with log_file.open("wb") as log:
            process = await self._ends.enter_async_context(
                started(
                    *arguments,
                    settings={"LOG_LEVEL": "debug", **settings},
                    folder=self.folder,
                    stderr=log.fileno(),
                    command=command,
                )
            )
        service = Service(process, log_file)
        self.services.append(service)
        return service

    async def queue(self, *, command: Sequence[str] = COMMAND, **settings: str) -> Service:
        """A queue server that is up, on the lab's store and port."""
        settings = {
            "QUEUE_LISTEN_ADDR": address(self.queue_port),
            "SERVICE_TOKEN": QUEUE_TOKEN,
            **settings,
        }
        service = await self.start("queue", "--store", self.store, command=command, **settings)
        await self._is_up(service, self.queue_port)
        return service

    async def worker(self, queue_url: str = "", *, command: Sequence[str] = COMMAND, **settings: str) -> Service:
        """A worker that is up, on the lab's queue unless another one is named."""
        port = self.port()
        settings = {
            "LISTEN_ADDR": address(port),
            "SERVICE_TOKEN": WORKER_TOKEN,
            "TASK_QUEUE_URL": queue_url or self.queue_url,
            "TASK_QUEUE_TOKEN": QUEUE_TOKEN,
            "HANDLERS": MODULE,
            **settings,
        }
        service = await self.start("run", command=command, **settings)
        await self._is_up(service, port)
        return service

    async def standalone(self, **settings: str) -> Service:
        """A standalone that is up, with the lab's store and port."""
        port = self.port()
        settings = {
            "LISTEN_ADDR": address(port),
            "QUEUE_LISTEN_ADDR": address(self.queue_port),
            "SERVICE_TOKEN": QUEUE_TOKEN,
            "HANDLERS": MODULE,
            **settings,
        }
        service = await self.start("standalone", "--data", "data", **settings)
        await self._is_up(service, self.queue_port)
        await self._is_up(service, port)
        return service

    async def worker_of(self, kind: str, **settings: str) -> Service:
        """A worker beside its queue: `standalone`, or `run` on a queue server."""
        if kind == "standalone":
            return await self.standalone(**settings)
        await self.queue()
        return await self.worker(**settings)

    async def _is_up(self, service: Service, port: int) -> None:
        async def is_up() -> bool:
            assert service.process.returncode is None, service.text
            try:
                async with self._session.get(f"http://{address(port)}/healthz") as answer:
                    return answer.status == 200
            except aiohttp.ClientError:
                return False

        await until_true(is_up, within=UP, what=f"{service.log_file} is up")

    # What the queue says, and what the handlers have done.

    async def call(self, method: str, path: str, **more: Any) -> Answer:
        """A call of the queue's API."""
        server = Server(self.queue_port, self._session)
        target = f"http://{address(self.queue_port)}/api/queue/{path}"
        return await server.call(method, target, headers={"X-Service-Token": QUEUE_TOKEN}, **more)

    async def enqueue(self, task_class: str, **fields: Any) -> int:
        answer = await self.call("POST", "enqueue", json={"taskClass": task_class, "data": "{}", **fields})
        task_id: int = answer.data()["id"]
        return task_id

    async def task(self, task_id: int) -> dict[str, Any]:
        """The task while it is active, empty when it is archived."""
        answer = await self.call("GET", f"tasks/{task_id}")
        if answer.status == 404:
            return {}
        row: dict[str, Any] = answer.data()
        return row

    async def stats(self) -> dict[str, int]:
        counts: dict[str, int] = (await self.call("GET", "stats")).data()
        return counts

    async def archived(self, count: int, within: float = 10.0) -> None:
        """Waits until so many tasks are archived and none is left."""

        async def is_so() -> bool:
            stats = await self.stats()
            return stats["activeCount"] == 0 and stats["archivedCount"] == count

        await until_true(is_so, within=within, what=f"{count} tasks are archived")

    def executed(self) -> Counter[int]:
        """How often the execution of each task has begun."""
        record = self.folder / "executed"
        return (
            Counter(int(line.split()[0]) for line in record.read_text().splitlines()) if record.exists() else Counter()
        )

    async def executing(self, *task_ids: int) -> None:
        """Waits until the execution of all these tasks has begun."""
        await until(lambda: self.executed().keys() >= set(task_ids), within=UP, what=f"{task_ids} are executed")

    def release(self) -> None:
        """Lets the handlers go on that wait for it."""
        (self.folder / "release").touch()


def address(port: int) -> str:
    return f"127.0.0.1:{port}"


def url(port: int) -> str:
    """With credentials, which nothing needs: they must not be logged."""
    return f"http://user:{URL_PASSWORD}@{address(port)}"
