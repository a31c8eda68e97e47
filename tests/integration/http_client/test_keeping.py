"""Connections: how many, for how long, and when one is used again."""

from __future__ import annotations

import asyncio
import socket

import pytest
from support.http_calls import assert_nothing_is_left, call, client_of, pool_of, start
from support.raw_server import (
    OK,
    Peer,
    Script,
    answering,
    answering_once,
    keep_answering,
    never_answer,
    raw_server,
)
from support.waiting import until, until_true

from gorge_worker.http_client import NoAnswer, NotSent, pool


async def test_a_connection_is_used_again() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        for _ in range(5):
            await call(client)
        assert server.connections == 1


async def test_there_are_never_more_connections_than_allowed_and_who_waits_is_served_in_order() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url, connections=1) as client:
        await asyncio.gather(*(call(client, body=b"%d" % number) for number in range(20)))
        assert server.connections == 1
        assert [request.rpartition(b"\r\n\r\n")[2] for request in server.requests] == [b"%d" % n for n in range(20)]


async def test_many_calls_share_the_connections_there_are() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url, connections=3) as client:
        for _ in range(10):
            await asyncio.gather(*(call(client) for _ in range(10)))
        assert server.connections == 3


async def test_a_waiter_that_gives_up_does_not_take_the_turn_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await go.wait()
        await peer.send(OK)
        await keep_answering(peer)

    async with raw_server(script) as server, client_of(server.url, connections=1) as client:
        first, second, third = (start(client, body=b"%d" % number) for number in range(3))
        await until(lambda: server.requests)
        go.set()
        # Given the connection and cancelled in the same turn of the loop.
        give = pool_of(client).give
        monkeypatch.setattr(pool_of(client), "give", lambda connection: (give(connection), second.cancel()))
        assert (await first).body == b"ok"
        assert (await third).body == b"ok"
        with pytest.raises(asyncio.CancelledError):
            await second
        assert server.connections == 1
        await client.close()
        assert_nothing_is_left(client, 1)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        OK + b"and more",
        OK + OK,
    ],
    ids=["close", "old", "more", "twice"],
)
async def test_a_connection_that_can_carry_no_more_is_closed(answer: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(answer)
        await peer.until_closed()

    async with raw_server(script) as server, client_of(server.url) as client:
        for number in range(1, 4):
            assert (await call(client)).body == b"ok"
            await server.until_all_closed()
            assert server.connections == number


async def test_an_old_servers_connection_is_kept_when_it_says_so() -> None:
    answer = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
    async with raw_server(answering(answer)) as server, client_of(server.url) as client:
        await call(client)
        await call(client)
        assert server.connections == 1


async def test_bytes_that_nobody_asked_for_end_an_idle_connection() -> None:
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.answer(OK)
        await go.wait()
        await peer.send(OK)
        await peer.until_closed()

    async with raw_server(script, keep_answering) as server, client_of(server.url) as client:
        await call(client)
        go.set()
        await server.until_all_closed()
        assert (await call(client)).body == b"ok"
        assert server.connections == 2


@pytest.mark.parametrize("last_words", [b"", OK], ids=["closed", "unasked"])
async def test_a_connection_is_looked_at_before_it_is_used_again(last_words: bytes) -> None:
    """The server acts behind the back of the event loop, which has had no turn to notice."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)

        async def serve(*, then_close: bool) -> None:
            accepted, _ = await loop.sock_accept(listener)
            served.append(accepted)
            await loop.sock_recv(accepted, 1 << 16)
            await loop.sock_sendall(accepted, OK)
            if not then_close:
                await loop.sock_recv(accepted, 1 << 16)

        served: list[socket.socket] = []
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with client_of(url, connections=1) as client:
            serving = asyncio.create_task(serve(then_close=True))
            await call(client)
            await serving
            serving = asyncio.create_task(serve(then_close=False))
            await asyncio.sleep(0)
            served[0].send(last_words)
            served[0].close()
            assert (await call(client)).body == b"ok"
            assert len(served) == 2
        await serving
        for one in served:
            one.close()


@pytest.mark.parametrize("end", [Peer.close, Peer.reset])
async def test_a_used_connection_that_breaks_is_not_tried_again(end: Script) -> None:
    """The server may have acted on the call before it broke off."""

    async def script(peer: Peer) -> None:
        await peer.answer(OK)
        await peer.request()
        end(peer)

    async with raw_server(script) as server, client_of(server.url) as client:
        await call(client)
        with pytest.raises(NoAnswer, match="the connection broke"):
            await call(client)
        assert len(server.requests) == 2


async def test_idle_connections_are_closed_after_a_while_by_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        await call(client)
        inside = pool_of(client)
        monkeypatch.setattr(pool, "IDLE_CONNECTION", 0.05)
        await client.rest()
        await asyncio.gather(*(call(client) for _ in range(4)))
        timer = inside._sweep
        assert timer is not None
        await call(client)
        assert inside._sweep is timer
        await server.until_all_closed()
        await until(lambda: not inside._idle and inside._sweep is None)
        assert (await call(client)).body == b"ok"


async def test_the_connection_that_was_used_last_is_used_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that those which a busy hour needed can go, and in the end the last one."""
    monkeypatch.setattr(pool, "IDLE_CONNECTION", 0.1)
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        await asyncio.gather(*(call(client) for _ in range(4)))

        async def one_is_left() -> bool:
            await call(client)
            return server.open == 1

        await until_true(one_is_left)
        assert server.connections == 4
        await server.until_all_closed()


async def test_no_timer_is_left_where_no_connection_is() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        await call(client)
        timer = pool_of(client)._sweep
        assert timer is not None
        await client.rest()
        assert timer.cancelled()


async def test_a_connection_that_has_been_idle_for_too_long_is_not_used_even_when_no_timer_has_closed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        await call(client)
        monkeypatch.setattr(pool, "IDLE_CONNECTION", 0.0)
        await call(client)
        assert server.connections == 2


async def test_rest_lets_idle_connections_go_and_leaves_calls_alone() -> None:
    go = asyncio.Event()

    async def slow(peer: Peer) -> None:
        await peer.request()
        await go.wait()
        await peer.send(OK)
        await peer.until_closed()

    async with raw_server(slow, keep_answering) as server, client_of(server.url) as client:
        under_way = start(client)
        await until(lambda: server.requests)
        await call(client)
        await client.rest()
        await until(lambda: server.open == 1)
        go.set()
        assert (await under_way).body == b"ok"
        await client.rest()
        await server.until_all_closed()
        assert_nothing_is_left(client, 4)


async def test_what_closes_each_time_is_connected_to_each_time() -> None:
    async with raw_server(answering_once(OK)) as server, client_of(server.url) as client:
        for number in range(1, 6):
            await call(client)
            await server.until_all_closed()
            assert server.connections == number


async def test_close_ends_calls_under_way_and_waiting_ones_and_connections() -> None:
    async with raw_server(keep_answering, never_answer) as server, client_of(server.url, connections=3) as client:
        await call(client)
        busy = [start(client, limit=None) for _ in range(3)]
        await busy[0]
        await until(lambda: len(server.requests) == 4)
        await client.close()
        results = await asyncio.gather(*busy[1:], return_exceptions=True)
        assert [(type(one), str(one)) for one in results] == [(NoAnswer, "the client was closed")] * 2
        await server.until_all_closed()
        assert_nothing_is_left(client, 3)


async def test_close_ends_calls_that_wait_for_a_connection_and_have_not_been_sent() -> None:
    async with raw_server(never_answer) as server, client_of(server.url, connections=1) as client:
        under_way = start(client, limit=None)
        await until(lambda: server.requests)
        waiting = [start(client, limit=None) for _ in range(3)]
        await until(lambda: len(pool_of(client)._slots._waiters or ()) == 3)
        await client.close()
        results = await asyncio.gather(under_way, *waiting, return_exceptions=True)
        assert [type(one) for one in results] == [NoAnswer, NotSent, NotSent, NotSent]
        await server.until_all_closed()
        assert_nothing_is_left(client, 1)
        assert len(server.requests) == 1


async def test_after_close_the_next_call_connects_anew() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        await call(client)
        await client.close()
        assert (await call(client)).body == b"ok"
        assert server.connections == 2


async def test_close_with_nothing_open_is_nothing() -> None:
    async with client_of("http://127.0.0.1:1") as client:
        await client.rest()
        await client.close()
        await client.close()


async def test_nagles_algorithm_is_off() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        await call(client)
        [connection] = pool_of(client)._idle
        sock = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
