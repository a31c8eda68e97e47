from __future__ import annotations

import asyncio

import pytest
from support.command import run
from support.recording_server import RecordingServer, reply, reset

OK = '{"status": "ok"}'


async def test_a_living_server_is_healthy() -> None:
    async with RecordingServer(reply(200, OK)) as server:
        ended = await run("health", server.url)
        assert (ended.code, ended.out, ended.err) == (0, f"{server.url}/healthz is healthy\n", "")
        assert (server.only().method, server.only().target) == ("GET", "/healthz")


async def test_a_path_is_asked_for_as_it_is() -> None:
    async with RecordingServer(reply(200, OK)) as server:
        assert (await run("health", f"{server.url}/other?a=b")).code == 0
        assert server.only().target == "/other?a=b"


@pytest.mark.parametrize("form", [":{port}", "127.0.0.1:{port}", "localhost:{port}", "0.0.0.0:{port}"])
async def test_this_machines_worker_is_asked_by_default(form: str) -> None:
    async with RecordingServer(reply(200, OK)) as server:
        ended = await run("health", settings={"LISTEN_ADDR": form.format(port=server.url.rpartition(":")[2])})
        assert ended.code == 0, ended.err
        assert server.only().target == "/healthz"


async def test_a_server_that_is_not_well_says_why() -> None:
    trouble = '{"error": {"code": "ERR_X", "message": "the queue is\\naway"}}'
    async with RecordingServer(reply(503, trouble)) as server:
        ended = await run("health", server.url)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == f"gorge-worker: {server.url}/healthz is not healthy: it answered 503: the queue is away\n"


async def test_a_redirect_is_not_followed() -> None:
    async with RecordingServer(reply(302, "", Location="/elsewhere")) as server:
        ended = await run("health", server.url)
        assert (ended.code, len(server.seen)) == (1, 1)
        assert "it answered 302" in ended.err


async def test_nobody_listening_is_not_healthy() -> None:
    async with RecordingServer() as server:
        await server.stop()
        ended = await run("health", server.url)
        assert ended.code == 1
        assert ended.err == f"gorge-worker: can't connect to {server.url}/healthz: Connection refused\n"


async def test_a_host_that_does_not_exist_is_not_healthy() -> None:
    ended = await run("health", "http://user:hunter2@no-such-host.invalid")
    assert ended.code == 1
    assert ended.err.startswith("gorge-worker: can't connect to http://user:***@no-such-host.invalid/healthz: ")


async def test_a_name_that_is_no_host_name_is_not_healthy() -> None:
    ended = await run("health", f"http://{'a' * 70}.example")
    assert ended.code == 1
    assert "can't connect" in ended.err


async def test_a_cut_connection_is_not_healthy() -> None:
    async with RecordingServer(reset) as server:
        ended = await run("health", server.url)
        assert ended.code == 1
        assert f"no whole answer from {server.url}/healthz" in ended.err


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2_000_000,
    ],
)
async def test_an_answer_that_is_not_whole_is_not_healthy(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        ended = await run("health", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 1
