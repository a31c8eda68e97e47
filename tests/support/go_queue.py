"""An imitation of the Go queue server, of both its generations, over a real socket: the first with its traps as real
behaviour (queue contract, facts 1 to 6). Time is a ShiftedClock's, so that hours can pass in a test.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from gorge_worker.clock import Clock
from support.go_fenced import FENCED, Reply, act_fenced
from support.go_table import FencedGoTable
from support.waiting import until


class ShiftedClock:
    """The product's Clock, on the machine's time, which a test can move on."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def boottime(self) -> float:
        return time.monotonic() + self.ahead

    def wall(self) -> float:
        return time.time() + self.ahead


UNFENCED = ("complete", "fail", "yield")
INTERNAL = {"error": {"code": "ERR_INTERNAL", "message": "select activetask: no rows in result set"}}

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class GoServer:
    """Serves a table. `calls` holds every call as (route, body); `lose` is how many answers of a route are cut off
    after the call has been acted on, `instead` what a route answers without acting. Of all calls, `losses` (a share)
    are cut off by chance, before or after they have been acted on.

    `restart` starts another generation of the server on the same table. `mixed` are the calls that do not go with the
    generation that their lease is from.
    """

    def __init__(self, clock: Clock, generation: int = 0, seed: int = 1) -> None:
        self.clock = clock
        self.generation = generation
        self.table = FencedGoTable(clock.wall)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.owners: list[str] = []
        self.mixed: list[tuple[str, dict[str, Any]]] = []
        self.lose: dict[str, int] = {}
        self.losses = 0.0
        self.instead: dict[str, Answer] = {}
        self._down = False
        self._turned_away: set[str] = set()
        self._generations: dict[str, int] = {}
        self._rng = random.Random(seed)
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

    async def restart(self, generation: int, *workers: str) -> None:
        """Answers nothing until a lease of each of these workers (X-Worker) has found out that the server is away."""
        self._down = True
        self._turned_away.clear()
        await until(lambda: self._turned_away >= {*workers}, what="both workers turned away")
        self.generation, self._down = generation, False

    def called(self, route: str) -> list[dict[str, Any]]:
        return [body for name, body in self.calls if name == route]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        route, raw = request.match_info["route"], await request.read()
        body = json.loads(raw) if raw else dict(request.query)
        assert request.transport
        if self._down or self._rng.random() < self.losses:
            if route in ("lease", "meta"):
                self._turned_away.add(request.headers.get("X-Worker", ""))
            request.transport.abort()
            return web.Response()
        self.calls.append((route, body))
        if route in self.instead:
            return await self.instead[route](request)
        status, content = self.act(route, body, request.headers.get("X-Lease-Owner", ""))
        if self.lose.get(route):
            self.lose[route] -= 1
            request.transport.abort()
        elif self._rng.random() < self.losses:
            request.transport.abort()
        return web.Response(
            status=status,
            body=json.dumps(content).encode(),
            headers={"Content-Type": "application/json", "Date": formatdate(self.clock.wall(), usegmt=True)},
        )

    def act(self, route: str, body: dict[str, Any], owner: str) -> Reply:
        """What a call does, without a socket."""
        self._look_for_mixing(route, body)
        if route == "lease":
            self.owners.append(owner)
            self._generations[owner] = self.generation
        if self.generation and (reply := act_fenced(self.table, route, body, owner)):
            return reply
        table, task_id = self.table, body.get("taskID", 0)
        known = True
        match route.split("/"):
            case ["lease"]:
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

    def _look_for_mixing(self, route: str, body: dict[str, Any]) -> None:
        row = self.table.rows.get(body.get("taskID", 0))
        if route in UNFENCED and row and not row.result and self._generations.get(row.owner or "", 0):
            self.mixed.append((route, body))
        if route in FENCED and not self._generations.get(body["leaseOwner"], 0):
            self.mixed.append((route, body))

    def _show(self, route: str, query: dict[str, Any]) -> Reply:
        match route.split("/"):
            case ["tasks"]:
                limit, offset = int(query.get("limit", 100)), int(query.get("offset", 0))
                rows = [row.wire() for row in self.table.active()[offset : offset + limit]]
                return 200, {"data": [{name: row[name] for name in row if name != "data"} for row in rows]}
            case ["tasks", number] if (row_ := self.table.rows.get(int(number))) and row_.result is None:
                return 200, {"data": row_.wire()}
        return 404, {"error": {"code": "ERR_NOT_FOUND", "message": "Not Found"}}


async def hang(_: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("not reached")
