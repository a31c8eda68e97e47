from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gorge_worker.http_client import HttpAnswer, NoAnswer
from gorge_worker.http_client.connection import Connection

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class FakeTransport(asyncio.Transport):
    def __init__(self, sock: socket.socket) -> None:
        super().__init__({"socket": sock})
        self.written = b""
        self.aborted = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.aborted


class Wire:
    """A connection whose other end is the test."""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.lost: list[Connection] = []
        self.connection = Connection(self.lost.append)
        self.transport = FakeTransport(self.near)
        self.connection.connection_made(self.transport)

    async def call(self) -> asyncio.Task[HttpAnswer]:
        calling = asyncio.create_task(self.connection.exchange(b"HEAD\r\n\r\n", b"body", 100))
        await asyncio.sleep(0)
        assert self.transport.written == b"HEAD\r\n\r\nbody"
        return calling

    def close(self) -> None:
        self.near.close()
        self.far.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


async def test_an_answer_counts_even_when_the_connection_breaks_in_the_same_turn(wire: Wire) -> None:
    calling = await wire.call()
    wire.connection.data_received(OK)
    wire.connection.connection_lost(ConnectionResetError(104, "reset"))
    assert (await calling).body == b"ok"
    assert wire.lost == [wire.connection]


async def test_a_break_counts_even_when_bytes_come_after_it(wire: Wire) -> None:
    calling = await wire.call()
    wire.connection.connection_lost(ConnectionResetError(104, "reset"))
    wire.connection.data_received(OK)
    with pytest.raises(NoAnswer, match=r"the connection broke: .*reset"):
        await calling


async def test_what_follows_an_answer_ends_the_connection_and_not_the_call(wire: Wire) -> None:
    calling = await wire.call()
    wire.connection.data_received(OK)
    wire.connection.data_received(OK)
    assert (await calling).body == b"ok"
    assert wire.transport.aborted


async def test_a_connection_on_which_nothing_has_arrived_can_carry_more(wire: Wire) -> None:
    calling = await wire.call()
    wire.connection.data_received(OK)
    await calling
    assert wire.connection.can_carry_more()
    wire.far.send(b"x")
    assert not wire.connection.can_carry_more()
