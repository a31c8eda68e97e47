"""Requests: what goes out, and when an answer comes before all of it."""

from __future__ import annotations

import asyncio
import socket

import pytest
from support.http_calls import assert_nothing_is_left, call, client_of, pool_of, start
from support.raw_server import Peer, answering, keep_answering, raw_server
from support.waiting import until

from gorge_worker.http_client import NoAnswer, NotSent

BIG = bytes(range(256)) * 20_000  # 5 MB


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


async def test_a_request_has_what_http_wants_and_no_more() -> None:
    async with (
        raw_server(keep_answering) as server,
        client_of(server.url + "/base/", headers={"X-Token": "t"}) as client,
    ):
        await call(client, path="/a?b=c", headers={"Content-Type": "text/plain"}, body=b"abc")
    lines = server.requests[0].split(b"\r\n")
    assert lines[0] == b"POST /base/a?b=c HTTP/1.1"
    assert lines[-2:] == [b"", b"abc"]
    assert {line.split(b":")[0] for line in lines[1:-2]} == {
        *(b"Host", b"User-Agent", b"Accept", b"Accept-Encoding", b"X-Token", b"Content-Type", b"Content-Length")
    }


@pytest.mark.skipif(not has_ipv6(), reason="needs IPv6 on loopback")
async def test_ipv6_literals() -> None:
    async with raw_server(keep_answering, host="::1") as server, client_of(f"http://[::1]:{server.port}") as client:
        assert (await call(client)).body == b"ok"
    assert f"\r\nHost: [::1]:{server.port}\r\n".encode() in server.requests[0]


async def test_a_name_with_several_addresses_is_tried_at_each() -> None:
    async with raw_server(keep_answering) as server, client_of(f"http://localhost:{server.port}") as client:
        assert (await call(client)).body == b"ok"


async def test_a_call_that_can_not_be_written_costs_nothing() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url, connections=1) as client:
        await call(client)
        with pytest.raises(ValueError, match="line break"):
            await call(client, headers={"X": "a\r\nb"})
        assert (await call(client)).body == b"ok"
        assert server.connections == 1


async def test_a_big_body_waits_for_its_reader_outside_of_memory_while_others_go_on() -> None:
    go = asyncio.Event()

    async def slow(peer: Peer) -> None:
        await go.wait()
        await keep_answering(peer)

    body = b"x" * (64 << 20)  # more than the system takes
    async with raw_server(slow, keep_answering) as server, client_of(server.url) as client:
        big = start(client, body=body, limit=None)
        await until(lambda: server.open)
        [inside] = pool_of(client)._open
        await until(lambda: not inside._is_writable)
        for _ in range(10):
            await call(client)
            assert inside.transport.get_write_buffer_size() < 1 << 20
        go.set()
        await big
        assert server.connections == 2
    assert any(request.endswith(body) for request in server.requests)


async def test_a_connection_that_carried_a_big_body_carries_more() -> None:
    async with raw_server(keep_answering) as server, client_of(server.url) as client:
        for _ in range(3):
            await call(client, body=BIG)
        assert server.connections == 1
    assert [len(request) for request in server.requests] == [len(server.requests[0])] * 3


@pytest.mark.parametrize("is_last", [True, False])
async def test_an_answer_before_the_end_of_the_request_is_the_answer(*, is_last: bool) -> None:
    async def refuse(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        if is_last:
            peer.writer.write_eof()
        await asyncio.sleep(60)

    async with raw_server(refuse, keep_answering) as server, client_of(server.url, connections=1) as client:
        answer = await call(client, body=BIG)
        assert (answer.status, answer.body) == (413, b"no")
        # The rest of the request is never sent, so nothing else may be sent there either.
        assert (await call(client)).status == 200
        assert server.connections == 2


async def test_a_server_that_goes_away_during_a_request_may_have_acted_on_it() -> None:
    async def leave(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        peer.reset()

    async with raw_server(leave) as server, client_of(server.url) as client:
        with pytest.raises(NoAnswer, match="the connection broke"):
            await call(client, body=BIG)
        await client.close()
        assert_nothing_is_left(client, 4)


async def test_a_server_that_closes_at_once_has_seen_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with client_of(url) as client:
        with pytest.raises(NotSent, match="can't connect"):
            await call(client)
        assert_nothing_is_left(client, 4)


async def test_a_name_that_is_none_means_that_nothing_was_sent() -> None:
    async with client_of("http://a..b:1") as client:
        with pytest.raises(NotSent, match="can't connect"):
            await call(client)


async def test_errors_name_neither_credentials_nor_query_nor_headers() -> None:
    for scripts in ([answering(b"nonsense\r\n\r\n")], [answering(b"")]):
        async with (
            raw_server(*scripts) as server,
            client_of(server.url.replace("//", "//me:secret@"), headers={"X": "secret"}) as client,
        ):
            with pytest.raises(NoAnswer) as caught:
                await call(client, path="/?q=secret", headers={"Y": "secret"}, limit=0.2)
            assert "secret" not in f"{caught.value!r}"
    async with client_of("http://me:secret@127.0.0.1:1") as client:
        with pytest.raises(NotSent) as refused:
            await call(client, path="/?q=secret")
        assert "secret" not in f"{refused.value!r}"
