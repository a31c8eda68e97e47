"""A `worker.execute` of each of its ages, as a client sees it."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Self
from urllib.parse import parse_qs

from aiohttp import web

from support.recording_server import RecordingServer, Reply, reply

SEED = frozenset({"taskID", "taskClass", "data"})
CONTEXT = frozenset({"failureCount", "priority", "objectPHID", "containerPHID", "leaseOwner", "leaseExpires"})
VERSIONED = frozenset({"executionVersion", "phase"})


def envelope(result: Any = None, code: str | None = None, info: str | None = None) -> Reply:
    return reply(200, json.dumps({"result": result, "error_code": code, "error_info": info}))


class Conduit(RecordingServer):
    """Refuses parameters that it does not declare, as Phorge does. `phases` answers by phase, "" being a call without
    one; what a call without a plan says is a success.
    """

    def __init__(self, declared: Collection[str] = SEED, **phases: Reply) -> None:
        super().__init__(self._answer)
        self.declared = frozenset(declared)
        self.phases = phases
        self.calls: list[dict[str, Any]] = []
        """The parameters of every call that was not refused for them."""

    @classmethod
    def version_1(cls, **phases: Reply) -> Self:
        capabilities = envelope({"result": "capabilities", "executionVersion": 1})
        prepared = envelope({"result": "prepared", "leaseDuration": None})
        return cls(SEED | CONTEXT | VERSIONED, **{"capabilities": capabilities, "prepare": prepared, **phases})

    def of(self, phase: str) -> list[dict[str, Any]]:
        """The calls of one phase, "" for those without any."""
        return [call for call in self.calls if call.get("phase", "") == phase]

    @property
    def executions(self) -> list[dict[str, Any]]:
        return self.of("") + self.of("execute")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        parameters = json.loads(parse_qs(self.seen[-1].body.decode())["params"][0])
        parameters.pop("__conduit__")
        if unknown := [name for name in parameters if name not in self.declared]:
            names = "', '".join(unknown)
            info = f"API Method \"worker.execute\" does not define these parameters: '{names}'."
            return await envelope(code="ERR-CONDUIT-CALL", info=info)(request)
        self.calls.append(parameters)
        return await self.phases.get(parameters.get("phase", ""), envelope({"result": "success"}))(request)
