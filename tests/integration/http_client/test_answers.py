"""Answers over real connections; the unit tests of the reader have them in every form."""

from __future__ import annotations

import pytest
from support.http_calls import call, client_of
from support.raw_server import OK, Peer, answering, answering_once, raw_server

from gorge_worker.http_client import AnswerTooLarge, NoAnswer

NOTHING_SAID = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ([OK], b"ok"),
        ([OK[:10], OK[10:20], OK[20:]], b"ok"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n", OK], b"ok"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nok\r\n", b"0\r\n\r\n"], b"ok"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
        ([b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\n\r\n"], b""),
    ],
    ids=["at once", "in pieces", "after interim ones", "chunked", "204", "304"],
)
async def test_an_answer_is_read_and_the_connection_kept(pieces: list[bytes], body: bytes) -> None:
    async with raw_server(answering(*pieces)) as server, client_of(server.url) as client:
        for _ in range(3):
            assert (await call(client)).body == body
        assert server.connections == 1


@pytest.mark.parametrize("content", [b"", b"x" * 1000])
async def test_an_answer_without_a_length_ends_with_the_connection(content: bytes) -> None:
    async with raw_server(answering_once(NOTHING_SAID, content)) as server, client_of(server.url) as client:
        assert (await call(client)).body == content
        assert (await call(client)).body == content
        assert server.connections == 2


async def test_an_answer_without_a_length_that_is_broken_off_is_none() -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(NOTHING_SAID, b"half")
        peer.reset()

    async with raw_server(script) as server, client_of(server.url) as client:
        with pytest.raises(NoAnswer, match=r"the connection broke: .*reset"):
            await call(client)


async def test_a_call_that_the_client_closes_is_not_taken_for_whole() -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(NOTHING_SAID, b"half")
        await peer.until_closed()

    async with raw_server(script) as server, client_of(server.url) as client:
        with pytest.raises(NoAnswer, match="no answer within"):
            await call(client, limit=0.1)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5001\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1389\r\n", b"x" * 5001],
        [NOTHING_SAID, b"x" * 5001],
    ],
    ids=["announced", "chunked", "without a length"],
)
async def test_too_large_an_answer_is_not_read_to_its_end(pieces: list[bytes]) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(*pieces)
        await peer.until_closed()

    async with raw_server(script) as server, client_of(server.url, connections=1) as client:
        for _ in range(2):
            with pytest.raises(AnswerTooLarge, match="more than 5000"):
                await call(client, most=5000)
            await server.until_all_closed()


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ([b"nonsense\r\n\r\n"], "the answer is not HTTP"),
        ([b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + b"\r\n\r\n"], "headers of more than 65536 bytes"),
        ([b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"], "the status 101"),
        ([], "it was closed before an answer came"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"], "the answer was cut short"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"], "the answer was cut short"),
    ],
)
async def test_what_is_no_answer_says_why(pieces: list[bytes], says: str) -> None:
    async with raw_server(answering_once(*pieces)) as server, client_of(server.url, connections=1) as client:
        for _ in range(2):
            with pytest.raises(NoAnswer, match=says):
                await call(client)
        await server.until_all_closed()
