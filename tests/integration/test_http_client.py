"""The client of queue and backend, against servers that misbehave in every way that matters."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest
from support.waiting import until

from gorge_worker.http_client import AnswerTooLarge, HttpAnswer, HttpClient, NoAnswer, NotSent

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Reads whole requests and answers each with the next of `answers`, the last one for ever."""

    def __init__(self, *answers: bytes, behaviour: Behaviour | None = None) -> None:
        self.answers = list(answers)
        self.behaviour = behaviour
        self.requests: list[bytes] = []
        self.connections = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b""
                self.requests.append(head + body)
                if self.behaviour:
                    await self.behaviour(reader, writer)
                    return
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def talking_to(
    server: Server, base: str = "http://127.0.0.1:{port}", **settings: int
) -> AsyncIterator[HttpClient]:
    listener = await asyncio.start_server(server.talk, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    client = HttpClient(base.format(port=port), headers={"X-Service-Token": "t0ken"}, connections=4, **settings)
    try:
        yield client
    finally:
        await client.close()
        listener.close()


async def call(client: HttpClient, *, body: bytes | None = b"{}", within: float = 5.0, most: int = 1000) -> HttpAnswer:
    return await client.request("POST", "/api/x", body=body, timeout=within, max_answer=most)


async def test_a_call_carries_its_headers_and_its_body_and_the_answer_comes_back_whole() -> None:
    server = Server(b"HTTP/1.1 418 Odd\r\nDate: today\r\nContent-Length: 4\r\n\r\nbody")
    async with talking_to(server) as client:
        answer = await call(client, body=b'{"a":1}')
    assert (answer.status, answer.headers["date"], answer.body) == (418, "today", b"body")
    [request] = server.requests
    assert request.startswith(b"POST /api/x HTTP/1.1\r\n")
    assert b"X-Service-Token: t0ken\r\n" in request
    assert request.endswith(b'\r\n\r\n{"a":1}')


async def test_connections_are_kept_and_let_go_when_the_client_rests() -> None:
    server = Server(OK)
    async with talking_to(server) as client:
        for _ in range(5):
            await call(client)
        assert server.connections == 1
        await client.rest()
        await call(client)
        assert server.connections == 2


async def test_user_and_password_of_the_url_are_sent_as_basic_auth() -> None:
    server = Server(OK)
    async with talking_to(server, "http://me:se%20cret@127.0.0.1:{port}") as client:
        await call(client)
    assert b"Authorization: Basic " + base64.b64encode(b"me:se cret") in server.requests[0]


async def test_a_redirect_is_an_answer_like_any_other() -> None:
    server = Server(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
    async with talking_to(server) as client:
        assert (await call(client)).status == 302
    assert len(server.requests) == 1


async def test_cookies_are_not_kept() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
    async with talking_to(server) as client:
        await call(client)
        await call(client)
    assert b"cookie" not in server.requests[1].lower()


async def test_a_chunked_answer_is_read() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    async with talking_to(server) as client:
        assert (await call(client)).body == b"abcde"


async def test_where_nobody_listens_nothing_was_sent() -> None:
    async with talking_to(Server(OK)) as client:
        pass
    with pytest.raises(NotSent, match="can't connect"):
        await call(client)
    await client.close()


async def test_an_unknown_host_name_means_that_nothing_was_sent() -> None:
    client = HttpClient("http://no-such-host.invalid:1", headers={}, connections=1)
    with pytest.raises(NotSent):
        await call(client)
    await client.close()


async def hang(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def abort(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def cut_short(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    await writer.drain()


async def speak_another_language(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("behaviour", [abort, cut_short, speak_another_language])
async def test_a_broken_answer_may_have_been_acted_on(behaviour: Behaviour) -> None:
    async with talking_to(Server(behaviour=behaviour)) as client:
        with pytest.raises(NoAnswer) as caught:
            await call(client)
        assert "127.0.0.1" not in str(caught.value)


async def test_no_answer_in_time_may_have_been_acted_on() -> None:
    async with talking_to(Server(behaviour=hang)) as client:
        with pytest.raises(NoAnswer, match=r"within 0\.05 s"):
            await call(client, within=0.05)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + b"x" * 5000 + b"\r\n0\r\n\r\n",
    ],
    ids=["announced", "chunked"],
)
async def test_an_answer_that_is_too_large_is_not_read(answer: bytes) -> None:
    async with talking_to(Server(answer)) as client:
        with pytest.raises(AnswerTooLarge):
            await call(client, most=4999)
        assert len((await call(client, most=5000)).body) == 5000


async def test_a_large_body_arrives_byte_for_byte() -> None:
    server = Server(OK)
    body = bytes(range(256)) * 20_000
    async with talking_to(server) as client:
        await call(client, body=body)
    assert server.requests[0].endswith(body)


async def test_a_call_that_is_cancelled_leaves_the_client_usable() -> None:
    server = Server(behaviour=hang)
    async with talking_to(server) as client:
        calls = [asyncio.create_task(call(client)) for _ in range(4)]
        await until(lambda: len(server.requests) == 4)
        for one in calls:
            one.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        server.behaviour, server.answers = None, [OK]
        assert (await call(client)).body == b"ok"
