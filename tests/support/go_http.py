"""The imitation of the Go queue server without a socket, so that it runs in virtual time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import formatdate
from urllib.parse import parse_qsl

from gorge_worker.clock import Clock
from gorge_worker.http_client import HttpAnswer, NoAnswer
from support.go_queue import GoServer
from support.scripted_http import Call, ScriptedHttp, answer


class GoHttp(ScriptedHttp):
    """An HttpClient to a GoServer. `lose` is how many answers of a route are lost after the call has been acted on;
    scripted steps take the server's place.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.server = GoServer(clock)
        self.table = self.server.table
        self.lose: dict[str, int] = {}
        self.otherwise = self.act

    async def act(self, call: Call) -> HttpAnswer:
        body = call.body if call.body is not None else dict(parse_qsl(call.query))
        status, content = self.server.act(call.route, body, _owner(call.headers))
        if self.lose.get(call.route):
            self.lose[call.route] -= 1
            raise NoAnswer("the connection broke")
        return answer(status, json.dumps(content), Date=formatdate(self.clock.wall(), usegmt=True))


def _owner(headers: Mapping[str, str]) -> str:
    return headers.get("X-Lease-Owner", "")
