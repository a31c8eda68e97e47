"""How long connections are kept, to the second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from gorge_worker.http_client.connection import Connection
from gorge_worker.http_client.origin import Origin
from gorge_worker.http_client.pool import IDLE_CONNECTION, Pool

pytestmark = pytest.mark.virtual_time


class FakeConnection:
    idle_since = 0.0
    is_open = True
    closed_at = 0.0

    def can_carry_more(self) -> bool:
        return self.is_open

    def drop(self) -> None:
        self.is_open = False
        self.closed_at = asyncio.get_running_loop().time()


class FakeConnector:
    async def connect(self, _on_lost: Callable[[Connection], None]) -> Connection:
        return cast("Connection", FakeConnection())


def new_pool(size: int, monkeypatch: pytest.MonkeyPatch) -> Pool:
    pool = Pool(Origin.of("http://h"), size)
    monkeypatch.setattr(pool, "_connector", FakeConnector())
    return pool


async def take(pool: Pool) -> FakeConnection:
    return cast("FakeConnection", await pool.take())


def give(pool: Pool, connection: FakeConnection) -> None:
    pool.give(cast("Connection", connection))


async def test_each_connection_is_closed_when_it_has_been_idle_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = new_pool(3, monkeypatch)
    start = asyncio.get_running_loop().time()
    connections = [await take(pool) for _ in range(3)]
    for connection in connections:
        give(pool, connection)
        await asyncio.sleep(1)
    await asyncio.sleep(100)
    assert [one.closed_at - start for one in connections] == pytest.approx(
        [IDLE_CONNECTION + wait for wait in range(3)]
    )
    assert pool._sweep is None


async def test_a_connection_that_is_used_again_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = new_pool(1, monkeypatch)
    first = await take(pool)
    for _ in range(5):
        give(pool, first)
        await asyncio.sleep(IDLE_CONNECTION * 0.9)
        assert await take(pool) is first
    await asyncio.sleep(100)
    assert first.is_open, "closed while it was in use"


async def test_one_that_broke_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = new_pool(1, monkeypatch)
    first = await take(pool)
    first.drop()
    give(pool, first)
    assert await take(pool) is not first
