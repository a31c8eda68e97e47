"""An imitation of the Go queue server of generation 0, with its traps as real behaviour (queue contract, facts 1 to 6).

GoTable is the rule, GoServer serves it over a real socket. Time is a ShiftedClock's, so that hours can pass in a test.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from gorge_worker.clock import Clock


class ShiftedClock:
    """The product's Clock, on the machine's time, which a test can move on."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def boottime(self) -> float:
        return time.monotonic() + self.ahead

    def wall(self) -> float:
        return time.time() + self.ahead


@dataclass
class Row:
    id: int
    task_class: str
    data: str
    priority: int
    owner: str | None = None
    expires: int | None = None
    failures: int = 0
    result: str | None = None

    def wire(self) -> dict[str, Any]:
        fields = {
            "id": self.id,
            "taskClass": self.task_class,
            "leaseOwner": self.owner,
            "leaseExpires": self.expires,
            "failureCount": self.failures,
            "dataID": self.id,
            "priority": self.priority,
            "data": self.data,
        }
        return {name: value for name, value in fields.items() if value is not None}


class GoTable:
    """The rows of the Go server, and what its queries do to them. `now` gives epoch seconds."""

    lease_duration = 7200

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.rows: dict[int, Row] = {}

    def now(self) -> int:
        return int(self._now())

    def active(self) -> list[Row]:
        rows = (row for row in self.rows.values() if row.result is None)
        return sorted(rows, key=lambda row: (row.priority, row.id))

    def enqueue(self, task_class: str = "Some", data: str = "{}", priority: int = 2000) -> Row:
        row = self.rows[len(self.rows) + 1] = Row(len(self.rows) + 1, task_class, data, priority)
        return row

    def lease(self, owner: str, limit: int) -> list[Row]:
        """Takes new rows and due ones, up to the limit each, and returns up to the limit of what the owner has."""
        now = self.now()
        new = [row for row in self.active() if row.owner is None][:limit]
        due = [row for row in self.active() if row.owner is not None and (row.expires or 0) < now]
        due.sort(key=lambda row: row.expires or 0)
        for row in new + due[:limit]:
            row.owner, row.expires = owner, now + self.lease_duration
        return [row for row in self.active() if row.owner == owner and (row.expires or 0) >= now][:limit]

    def archive(self, task_id: int, result: str) -> bool:
        row = self.rows.get(task_id)
        if row is None or row.result is not None:
            return False
        row.result, row.owner = result, None
        return True

    def fail(self, task_id: int, wait: int) -> None:
        if (row := self.rows.get(task_id)) and row.result is None:
            row.owner, row.expires, row.failures = None, self.now() + wait, row.failures + 1

    def yield_(self, task_id: int, seconds: int) -> None:
        if (row := self.rows.get(task_id)) and row.result is None:
            row.owner, row.expires = "(yield)", self.now() + max(5, seconds)

    def stranded(self) -> list[Row]:
        """Rows that some worker's lease keeps from everybody else."""
        now = self.now()
        return [row for row in self.active() if row.owner not in (None, "(yield)") and (row.expires or 0) >= now]


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class GoServer:
    """Serves a GoTable. `calls` holds every call as (route, body); `lose` is how many answers of a route are cut off
    after the call has been acted on, `instead` what a route answers without acting.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.table = GoTable(clock.wall)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.owners: list[str] = []
        self.lose: dict[str, int] = {}
        self.instead: dict[str, Answer] = {}
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/api/queue/{route:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*self._runner.addresses[0])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner:
            await self._runner.cleanup()

    def called(self, route: str) -> list[dict[str, Any]]:
        return [body for name, body in self.calls if name == route]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        route, raw = request.match_info["route"], await request.read()
        body = json.loads(raw) if raw else dict(request.query)
        self.calls.append((route, body))
        if route in self.instead:
            return await self.instead[route](request)
        status, content = self.act(route, body, request.headers.get("X-Lease-Owner", ""))
        if self.lose.get(route):
            self.lose[route] -= 1
            assert request.transport
            request.transport.abort()
        return web.Response(
            status=status,
            body=json.dumps(content).encode(),
            headers={"Content-Type": "application/json", "Date": formatdate(self.clock.wall(), usegmt=True)},
        )

    def act(self, route: str, body: dict[str, Any], owner: str) -> tuple[int, dict[str, Any]]:
        """What a call does, without a socket."""
        table, task_id = self.table, body.get("taskID", 0)
        known = True
        match route.split("/"):
            case ["lease"]:
                self.owners.append(owner)
                return 200, {"data": [row.wire() for row in table.lease(owner, max(1, body["limit"]))]}
            case ["enqueue"]:
                row = table.enqueue(body["taskClass"], body.get("data", ""), body.get("priority", 2000))
                return 200, {"data": row.wire()}
            case ["complete"]:
                known = table.archive(task_id, "success")
            case ["fail"] if body.get("permanent"):
                known = table.archive(task_id, "failure")
            case ["fail"]:
                table.fail(task_id, body.get("retryWait", 300))
            case ["yield"]:
                table.yield_(task_id, body["duration"])
            case _:
                return self._show(route, body)
        return (200, {"data": {"status": "ok"}}) if known else (500, INTERNAL)

    def _show(self, route: str, query: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        match route.split("/"):
            case ["tasks"]:
                limit, offset = int(query.get("limit", 100)), int(query.get("offset", 0))
                rows = [row.wire() for row in self.table.active()[offset : offset + limit]]
                return 200, {"data": [{name: row[name] for name in row if name != "data"} for row in rows]}
            case ["tasks", number] if (row_ := self.table.rows.get(int(number))) and row_.result is None:
                return 200, {"data": row_.wire()}
        return 404, {"error": {"code": "ERR_NOT_FOUND", "message": "Not Found"}}


INTERNAL = {"error": {"code": "ERR_INTERNAL", "message": "select activetask: no rows in result set"}}


async def hang(_: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("not reached")
