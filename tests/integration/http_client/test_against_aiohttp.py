"""Against a whole server, and next to another client: both must see the same."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web
from support.http_calls import call, client_of
from support.recording_server import RecordingServer, Reply, reply
from yarl import URL

BIG = bytes(range(256)) * 4_000


async def chunked(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"X-Odd": "ä, ü"})
    answer.enable_chunked_encoding()
    await answer.prepare(request)
    for size in (1, 1000, 70_000):
        await answer.write(b"x" * size)
    await answer.write_eof()
    return answer


async def closing(_: web.Request) -> web.StreamResponse:
    answer = web.Response(body=b"the end")
    answer.force_close()
    return answer


ANSWERS: dict[str, Reply] = {
    "empty": reply(),
    "text": reply(200, "täxt", X_A="1"),
    "big": reply(200, BIG),
    "refusal": reply(404, "no"),
    "redirect": reply(302, Location="/elsewhere"),
    "no content": reply(204),
    "chunked": chunked,
    "closing": closing,
}
CALLS = {
    "get": ("GET", "/a?b=c%2Fd&e=%C3%A4", None),
    "post": ("POST", "/a", b"{}"),
    "post nothing": ("POST", "/a", None),
    "post empty": ("POST", "/a", b""),
    "put": ("PUT", "/a", b"\0\r\n\r\n\xff"),
    "delete": ("DELETE", "/a", None),
    "post much": ("POST", "/a", BIG),
}


@pytest.mark.parametrize("called", CALLS)
@pytest.mark.parametrize("answered", ANSWERS)
async def test_both_clients_see_and_show_the_same(called: str, answered: str) -> None:
    method, path, body = CALLS[called]
    headers = {"X-Token": "t", "Content-Type": "text/plain"}
    async with RecordingServer(ANSWERS[answered]) as server, client_of(server.url) as client:
        ours = [
            await call(client, method=method, path=path, body=body, headers=headers, most=1 << 22) for _ in range(2)
        ]
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method, URL(server.url + path, encoded=True), data=body, headers=headers, allow_redirects=False
            ) as answer,
        ):
            theirs = await answer.read()
    for one in ours:
        assert (one.status, one.body) == (answer.status, theirs)
        assert {**one.headers, "Date": ""} == {**answer.headers, "Date": ""}
    assert len({(one.method, one.target, one.body) for one in server.seen}) == 1
    for name in ("X-Token", "Content-Type", "Content-Length", "Host"):
        first, second, other = (one.headers.getall(name, []) for one in server.seen)
        assert first == second == other


async def test_many_calls_at_once_get_their_own_answers() -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(len(await request.read()) % 7 / 1000)
        return web.Response(body=await request.read())

    async with RecordingServer(echo) as server, client_of(server.url, connections=16) as client:
        bodies = [b"%d " % number * (number + 1) for number in range(200)]
        answers = await asyncio.gather(*(call(client, body=body, most=1 << 20) for body in bodies))
        assert [one.body for one in answers] == bodies
