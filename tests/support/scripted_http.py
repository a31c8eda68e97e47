"""An HttpClient without a network: answers by route as it is told."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from multidict import CIMultiDict, CIMultiDictProxy

from gorge_worker.http_client import HttpAnswer, HttpClient


class Call(msgspec.Struct, frozen=True):
    method: str
    route: str
    query: str
    body: Any
    headers: Mapping[str, str]
    timeout: float | None


Step = HttpAnswer | Exception | Callable[[Call], Awaitable[HttpAnswer]]


def answer(status: int, body: bytes | str, **headers: str) -> HttpAnswer:
    raw = body.encode() if isinstance(body, str) else body
    named = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    return HttpAnswer(status, CIMultiDictProxy(named), raw)


def data(value: Any, **headers: str) -> HttpAnswer:
    return answer(200, json.dumps({"data": value}), **headers)


def error(status: int, code: str = "ERR", message: str = "no", **headers: str) -> HttpAnswer:
    return answer(status, json.dumps({"error": {"code": code, "message": message}}), **headers)


OK = data({"status": "ok"})
PAGE = answer(503, "<html>\n<body>Sorry</body></html>")


class ScriptedHttp(HttpClient):
    """`steps` are used up first, then `always` goes on for ever; any other route answers
    `otherwise`: a 404 in the envelope.

    Routes are without `/api/queue/`.
    """

    def __init__(self) -> None:
        super().__init__("http://queue.invalid", headers={}, connections=1)
        self.calls: list[Call] = []
        self.steps: dict[str, deque[Step]] = defaultdict(deque)
        self.always: dict[str, Step] = {}
        self.otherwise: Step = error(404, "ERR_NOT_FOUND")
        self.rests = 0

    def script(self, route: str, *steps: Step) -> None:
        self.steps[route].extend(steps)

    def at(self, route: str) -> list[Call]:
        return [call for call in self.calls if call.route == route]

    def bodies(self, route: str) -> list[Any]:
        return [call.body for call in self.at(route)]

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None,  # noqa: ASYNC109 - the client's own interface
        max_answer: int,
    ) -> HttpAnswer:
        assert max_answer > 0
        route, _, query = path.removeprefix("/api/queue/").partition("?")
        call = Call(method, route, query, json.loads(body) if body else None, dict(headers or {}), timeout)
        self.calls.append(call)
        step = self.steps[route].popleft() if self.steps[route] else self.always.get(route, self.otherwise)
        if isinstance(step, HttpAnswer):
            return step
        if isinstance(step, Exception):
            raise step
        return await step(call)

    async def rest(self) -> None:
        self.rests += 1
