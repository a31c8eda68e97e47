"""Calls: the client's face."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gorge_worker.http_client.answers import HttpAnswer, NoAnswer, NotSent
from gorge_worker.http_client.connection import Connection
from gorge_worker.http_client.heads import Heads
from gorge_worker.http_client.origin import Origin
from gorge_worker.http_client.pool import Pool


class HttpClient:
    """A pool of connections to one base URL; must be used within one event loop.

    `headers` go with every call; `connections` bounds the pool. User and password in the URL become basic auth.
    """

    def __init__(self, base_url: str, *, headers: Mapping[str, str], connections: int) -> None:
        self._base_url = base_url
        self._headers = headers
        self._connections = connections
        self._parts: tuple[Heads, Pool] | None = None
        self._under_way: set[asyncio.Timeout] = set()
        self._closings = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None,  # noqa: ASYNC109 (the client knows how far a call had got)
        max_answer: int,
    ) -> HttpAnswer:
        """Sends one call and reads the whole answer.

        `path` is percent-encoded and may have a query; `headers` replace the client's own of the same name. `timeout`
        is in seconds for the whole call (None: no limit), `max_answer` in bytes. Raises NotSent, NoAnswer or
        AnswerTooLarge; ValueError for a method, a path or headers that can't be sent.
        """
        heads, pool = self._opened()
        head = heads.write(method, path, headers, body)
        closings = self._closings
        connection: Connection | None = None
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                self._under_way.add(limit)
                connection = await pool.take()
                return await connection.exchange(head, body, max_answer)
        except TimeoutError as error:
            why = f"no answer within {timeout:g} s" if self._closings == closings else "the client was closed"
            # With a connection the call has been sent, at least in part.
            raise (NotSent(f"{why}, nor was it sent") if connection is None else NoAnswer(why)) from error
        finally:
            self._under_way.discard(limit)
            if connection is not None:
                pool.give(connection)

    def _opened(self) -> tuple[Heads, Pool]:
        if self._parts is None:
            try:
                origin = Origin.of(self._base_url)
            except ValueError:
                raise NotSent("can't connect: the URL can't be used") from None
            self._parts = Heads(origin, self._headers), Pool(origin, self._connections)
        return self._parts

    async def rest(self) -> None:
        """Lets idle connections go; the next call opens new ones."""
        if self._parts is not None:
            self._parts[1].rest()

    async def close(self) -> None:
        """Ends everything: a call under way raises NoAnswer, or NotSent when none of it had been sent."""
        self._closings += 1
        ending = self._under_way.copy()
        for limit in ending:
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
        while not ending.isdisjoint(self._under_way):  # noqa: ASYNC110 (a matter of a few turns of the loop)
            await asyncio.sleep(0)
        if self._parts is not None:
            await self._parts[1].close()
