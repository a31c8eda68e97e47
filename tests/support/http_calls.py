"""Clients for a test's time, and calls with what a test seldom cares about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from gorge_worker.http_client import HttpAnswer, HttpClient
from gorge_worker.http_client.pool import Pool


@asynccontextmanager
async def client_of(
    url: str, *, connections: int = 4, headers: Mapping[str, str] | None = None
) -> AsyncIterator[HttpClient]:
    client = HttpClient(url, headers=headers or {}, connections=connections)
    try:
        yield client
    finally:
        await client.close()


async def call(
    client: HttpClient,
    *,
    path: str = "/x",
    method: str = "POST",
    body: bytes | None = b"{}",
    headers: Mapping[str, str] | None = None,
    limit: float | None = 5.0,
    most: int = 1000,
) -> HttpAnswer:
    return await client.request(method, path, body=body, headers=headers, timeout=limit, max_answer=most)


def start(client: HttpClient, *, body: bytes | None = b"{}", limit: float | None = 5.0) -> asyncio.Task[HttpAnswer]:
    return asyncio.create_task(call(client, body=body, limit=limit))


def pool_of(client: HttpClient) -> Pool:
    """The inside of a client that has been used."""
    assert client._parts is not None
    return client._parts[1]


def assert_nothing_is_left(client: HttpClient, connections: int) -> None:
    """No call, no waiter, no connection, no timer."""
    pool = pool_of(client)
    assert not client._under_way
    assert pool._slots._value == connections
    assert not pool._slots._waiters
    assert not pool._open
    assert not pool._idle
    assert pool._sweep is None
