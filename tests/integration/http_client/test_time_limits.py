"""Time-outs, cancelling, and what they leave behind."""

from __future__ import annotations

import asyncio
import gc
import random
from pathlib import Path

import pytest
from support.http_calls import assert_nothing_is_left, call, client_of, start
from support.raw_server import OK, Peer, keep_answering, never_answer, raw_server
from support.waiting import until

from gorge_worker.http_client import HttpAnswer, HttpError, NoAnswer, NotSent, connecting

BIG = b"x" * (5 << 20)


async def test_a_call_that_waits_for_a_connection_for_too_long_was_not_sent() -> None:
    async with raw_server(never_answer) as server, client_of(server.url, connections=1) as client:
        first = start(client, limit=None)
        await until(lambda: server.requests or server.open)
        with pytest.raises(NotSent, match=r"no answer within 0\.05 s, nor was it sent"):
            await call(client, limit=0.05)
        first.cancel()
        await asyncio.wait([first])
        await server.until_all_closed()
        assert_nothing_is_left(client, 1)


@pytest.mark.parametrize("body", [b"{}", BIG], ids=["small", "big"])
async def test_a_call_without_an_answer_in_time_may_have_been_acted_on(body: bytes) -> None:
    async def deaf(_: Peer) -> None:
        await asyncio.sleep(60)

    async with raw_server(deaf) as server, client_of(server.url, connections=1) as client:
        with pytest.raises(NoAnswer, match=r"no answer within 0\.1 s"):
            await call(client, body=body, limit=0.1)
        await client.close()
        assert_nothing_is_left(client, 1)


async def test_a_host_that_does_not_take_the_connection_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT", 0.05)
    async with raw_server(never_answer) as server, client_of(f"https://127.0.0.1:{server.port}") as client:
        for limit in (None, 5.0):
            with pytest.raises(NotSent, match=r"can't connect within 0\.05 s"):
                await call(client, limit=limit)
        await server.until_all_closed()
        assert_nothing_is_left(client, 4)


async def test_a_call_that_is_over_while_it_connects_was_not_sent() -> None:
    async with raw_server(never_answer) as server, client_of(f"https://127.0.0.1:{server.port}") as client:
        with pytest.raises(NotSent, match=r"within 0\.05 s"):
            await call(client, limit=0.05)
        await server.until_all_closed()
        assert_nothing_is_left(client, 4)


async def test_close_ends_a_call_that_connects() -> None:
    async with raw_server(never_answer) as server, client_of(f"https://127.0.0.1:{server.port}") as client:
        calling = start(client, limit=None)
        await until(lambda: server.open)
        await client.close()
        assert calling.done()
        with pytest.raises(NotSent, match="the client was closed"):
            await calling
        await server.until_all_closed()
        assert_nothing_is_left(client, 4)


@pytest.mark.parametrize("body", [b"{}", BIG], ids=["small", "big"])
@pytest.mark.parametrize("turns", range(12))
async def test_cancelling_in_any_turn_of_the_loop_closes_the_connection(turns: int, body: bytes) -> None:
    async with raw_server(never_answer) as server, client_of(server.url, connections=1) as client:
        calling = start(client, body=body, limit=None)
        for _ in range(turns):
            await asyncio.sleep(0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await server.until_all_closed()
        server.scripts = [keep_answering]
        assert (await call(client)).body == b"ok"
        await client.close()
        assert_nothing_is_left(client, 1)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def fickle(peer: Peer) -> None:
    """Answers, late, in part, never, or breaks off."""
    rng = random.Random(len(peer.requests))
    while True:
        await peer.request()
        await asyncio.sleep(rng.choice([0, 0, 0.001, 0.005]))
        match rng.randrange(8):
            case 0:
                await peer.send(OK[:20])
                await peer.until_closed()
                return
            case 1:
                peer.reset()
                return
            case 2:
                await peer.send(b"HTTP/1.1 200 OK\r\n\r\n", b"the end")
                return
            case 3:
                await peer.send(OK + b"more")
            case _:
                await peer.send(OK)


@pytest.mark.limit(60)
async def test_a_thousand_calls_that_end_in_every_way_leave_nothing_behind() -> None:
    rng = random.Random(1)
    gc.collect()
    async with raw_server(fickle) as server:
        before = open_descriptors()
        async with client_of(server.url, connections=8) as client:
            results: list[HttpAnswer | BaseException] = []

            async def one_after_the_other(count: int) -> None:
                for _ in range(count):
                    body = b"x" * rng.choice([2, 2, 2, 100_000, 1_000_000])
                    calling = start(client, body=body, limit=rng.choice([None, 0.0, 0.002, 0.02]))
                    if rng.random() < 0.5:
                        asyncio.get_running_loop().call_later(rng.uniform(0, 0.02), calling.cancel)
                    else:
                        asyncio.get_running_loop().call_later(0.1, calling.cancel)
                    results.extend(await asyncio.gather(calling, return_exceptions=True))

            await asyncio.gather(*(one_after_the_other(50) for _ in range(20)))
            await client.close()
            await server.until_all_closed()
            assert_nothing_is_left(client, 8)
        kinds = {type(one) for one in results}
        assert kinds <= {HttpAnswer, NoAnswer, NotSent, asyncio.CancelledError}
        assert {HttpAnswer, NoAnswer, NotSent, asyncio.CancelledError} <= kinds
        assert len(results) == 1000
        await until(lambda: open_descriptors() <= before, what="sockets closed")


async def test_an_error_of_a_call_that_is_cancelled_meanwhile_is_nobodys(caplog: pytest.LogCaptureFixture) -> None:
    """asyncio would log an exception that nobody fetched."""

    async def script(peer: Peer) -> None:
        await peer.request()
        peer.reset()

    async with raw_server(script) as server, client_of(server.url) as client:
        for _ in range(20):
            calling = start(client)
            await until(lambda: server.requests)
            server.requests.clear()
            await asyncio.sleep(0)
            calling.cancel()
            [result] = await asyncio.gather(calling, return_exceptions=True)
            assert isinstance(result, asyncio.CancelledError | HttpError)
    gc.collect()
    assert caplog.records == []


@pytest.mark.parametrize("turns", range(8))
async def test_close_and_a_time_out_may_meet(turns: int) -> None:
    async with raw_server(never_answer) as server, client_of(server.url, connections=1) as client:
        under_way = start(client, limit=None)
        await until(lambda: server.requests)
        over = start(client, limit=0.0)
        for _ in range(turns):
            await asyncio.sleep(0)
        await client.close()
        results = await asyncio.gather(under_way, over, return_exceptions=True)
        assert [type(one) for one in results] == [NoAnswer, NotSent]
        assert_nothing_is_left(client, 1)
