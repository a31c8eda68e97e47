"""The calls themselves: routes, bodies, time limits, and how many are under way."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gorge_worker.http_client import HttpAnswer, HttpClient

BASE = "/api/queue/"
CALL_TIMEOUT = 30.0
"""Seconds for a whole call that the queue has no reason to hold back."""
MAX_ANSWER = 64 << 20
"""Bytes that are read of one answer. Reports too: the queue may send an archived task back with its data."""


class Wire:
    """Sends calls to the queue's routes. Raises what HttpClient raises."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._under_way = 0

    async def get(self, route: str) -> HttpAnswer:
        return await self._call("GET", route, None, None, CALL_TIMEOUT)

    async def post(
        self,
        route: str,
        body: Mapping[str, object],
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = CALL_TIMEOUT,  # noqa: ASYNC109 (passed on to the client, which knows how far a call got)
    ) -> HttpAnswer:
        headers = {"Content-Type": "application/json", **(headers or {})}
        return await self._call("POST", route, msgspec.json.encode(body), headers, timeout)

    async def _call(
        self, method: str, route: str, body: bytes | None, headers: Mapping[str, str] | None, limit: float
    ) -> HttpAnswer:
        self._under_way += 1
        try:
            return await self._http.request(
                method, BASE + route, body=body, headers=headers, timeout=limit, max_answer=MAX_ANSWER
            )
        finally:
            self._under_way -= 1

    async def rest(self) -> None:
        """Lets connections go, unless one is in use."""
        if not self._under_way:
            await self._http.rest()

    async def close(self) -> None:
        await self._http.close()
