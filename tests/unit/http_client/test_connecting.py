"""A host with several addresses, of which not all work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gorge_worker.http_client import NotSent
from gorge_worker.http_client.connecting import CONNECT_TIMEOUT, Connector
from gorge_worker.http_client.connection import Connection
from gorge_worker.http_client.origin import Origin

pytestmark = pytest.mark.virtual_time


class FakeTransport(asyncio.Transport):
    def __init__(self, *, closing: bool) -> None:
        self._closing = closing

    def is_closing(self) -> bool:
        return self._closing


class Net:
    """Instead of a network: what each address does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **addresses: str) -> None:
        self.addresses = addresses
        self.tried: list[str] = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "getaddrinfo", self.getaddrinfo)
        monkeypatch.setattr(loop, "create_connection", self.create_connection)

    async def getaddrinfo(self, _host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        return [(2, 1, 6, "", (address, port)) for address in self.addresses]

    async def create_connection(
        self, factory: Callable[[], Connection], address: str, _port: int, **_: Any
    ) -> tuple[asyncio.Transport, Connection]:
        self.tried.append(address)
        match self.addresses[address]:
            case "swallows":
                await asyncio.Event().wait()
            case "refuses":
                raise ConnectionRefusedError(111, f"refused by {address}")
        connection = factory()
        connection.transport = FakeTransport(closing=self.addresses[address] == "closes")
        return connection.transport, connection


def nothing(_: Connection) -> None:
    pass


async def test_an_address_that_swallows_everything_leaves_time_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(monkeypatch, a="swallows", b="refuses", c="works")
    connector = Connector(Origin.of("http://h"))
    start = asyncio.get_running_loop().time()
    await connector.connect(nothing)
    assert net.tried == ["a", "b", "c"]
    assert asyncio.get_running_loop().time() - start == pytest.approx(CONNECT_TIMEOUT / 3)


async def test_the_address_that_worked_is_tried_first_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(monkeypatch, a="refuses", b="works")
    connector = Connector(Origin.of("http://h"))
    await connector.connect(nothing)
    await connector.connect(nothing)
    assert net.tried == ["a", "b", "b"]
    net.addresses = {"a": "works", "b": "refuses"}
    await connector.connect(nothing)
    await connector.connect(nothing)
    assert net.tried == ["a", "b", "b", "b", "a", "a"]


async def test_when_no_address_works_the_last_one_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    Net(monkeypatch, a="swallows", b="refuses")
    with pytest.raises(NotSent, match=r"can't connect: .*refused by b"):
        await Connector(Origin.of("http://h")).connect(nothing)


async def test_when_every_address_swallows_everything_it_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Net(monkeypatch, a="swallows", b="swallows")
    start = asyncio.get_running_loop().time()
    with pytest.raises(NotSent, match="can't connect within 10 s"):
        await Connector(Origin.of("http://h")).connect(nothing)
    assert asyncio.get_running_loop().time() - start == pytest.approx(CONNECT_TIMEOUT)


async def test_a_name_without_an_address_means_that_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    Net(monkeypatch)
    with pytest.raises(NotSent, match="can't connect: the name has no address"):
        await Connector(Origin.of("http://h")).connect(nothing)


async def test_a_connection_that_is_closed_at_once_was_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    Net(monkeypatch, a="closes")
    with pytest.raises(NotSent, match="can't connect: the connection was closed at once"):
        await Connector(Origin.of("http://h")).connect(nothing)
