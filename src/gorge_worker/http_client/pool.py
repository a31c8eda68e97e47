"""The connections to one origin: how many there are, and how long they are kept."""

from __future__ import annotations

import asyncio
from collections import deque

from gorge_worker.http_client.connecting import Connector
from gorge_worker.http_client.connection import Connection
from gorge_worker.http_client.origin import Origin

IDLE_CONNECTION = 4.0
"""Seconds that an unused connection is kept: less than Apache's default of 5, so that a call is not sent into a
connection that the server is just closing, which would leave its outcome unknown."""


class Pool:
    """At most `size` connections. Who waits for one is served in order."""

    def __init__(self, origin: Origin, size: int) -> None:
        self._connector = Connector(origin)
        self._slots = asyncio.Semaphore(size)
        self._open: set[Connection] = set()
        self._idle: deque[Connection] = deque()  # the one that has been idle for longest comes first
        self._sweep: asyncio.TimerHandle | None = None

    async def take(self) -> Connection:
        """A connection that no other call uses, to be given back. Raises NotSent."""
        await self._slots.acquire()
        try:
            return self._kept() or await self._new()
        except BaseException:
            self._slots.release()
            raise

    def give(self, connection: Connection) -> None:
        """Takes a connection back; it is kept if it is open."""
        self._slots.release()
        if connection.is_open:
            loop = asyncio.get_running_loop()
            connection.idle_since = loop.time()
            self._idle.append(connection)
            if self._sweep is None:
                self._sweep = loop.call_later(IDLE_CONNECTION, self._let_old_ones_go)

    def rest(self) -> None:
        """Closes idle connections."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        while self._idle:
            self._idle.pop().drop()

    async def close(self) -> None:
        """Waits until every socket is closed. No connection may be in use."""
        self.rest()
        closing = self._open.copy()
        while not closing.isdisjoint(self._open):  # noqa: ASYNC110 (a matter of a few turns of the loop)
            await asyncio.sleep(0)

    def _kept(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - IDLE_CONNECTION
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since > oldest and connection.can_carry_more():
                return connection
            connection.drop()
        return None

    async def _new(self) -> Connection:
        connection = await self._connector.connect(self._open.discard)
        self._open.add(connection)
        return connection

    def _let_old_ones_go(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = None
        while self._idle and self._idle[0].idle_since + IDLE_CONNECTION <= loop.time():
            self._idle.popleft().drop()
        if self._idle:
            self._sweep = loop.call_at(self._idle[0].idle_since + IDLE_CONNECTION, self._let_old_ones_go)
