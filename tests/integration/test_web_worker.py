"""The worker's own HTTP face over real sockets."""

from __future__ import annotations

import asyncio
from email.utils import parsedate_to_datetime

import pytest
from structlog.testing import capture_logs
from support.web import LOOPBACK, STATS, client, serving, worker_server

from gorge_worker.config.values import ListenAddress
from gorge_worker.web.guard import Guard
from gorge_worker.web.worker_api import WorkerStats, worker_app

TOKEN = "T0ken"
UNAUTHORIZED = {"error": {"code": "ERR_UNAUTHORIZED", "message": "missing or invalid service token"}}


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("path", ["/", "/healthz", "/healthz?token=whatever"])
async def test_health_is_open_to_everybody(path: str, token: str) -> None:
    async with worker_server(token) as server:
        answer = await server.get(path, headers={"Host": "probe.example", "Origin": "http://probe.example:1"})
        assert (answer.status, answer.body) == (200, b'{"status":"ok"}')
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        assert (await server.call("HEAD", path)).status == 200


async def test_stats_has_exactly_the_four_keys_in_their_order() -> None:
    async with worker_server() as server:
        answer = await server.get("/api/worker/stats")
        assert answer.body == b'{"data":{"processed":1,"failed":2,"active":3,"supported":["A","*"]}}'


async def test_stats_are_asked_for_each_time() -> None:
    counted = [0]

    def stats() -> WorkerStats:
        counted[0] += 1
        return WorkerStats(processed=counted[0], failed=0, active=0, supported=[])

    guard = Guard(LOOPBACK, "")
    async with serving(worker_app(stats, guard), guard) as server:
        assert [(await server.get("/api/worker/stats")).data()["processed"] for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"X-Service-Token": TOKEN}, ""),
        ({"x-service-token": TOKEN}, "?token=wrong"),
        ({}, f"?token={TOKEN}"),
        ({}, f"?a=b&token={TOKEN}&token=wrong"),
        ({}, "?token=T0k%65n"),
        ({"X-Service-Token": ""}, f"?token={TOKEN}"),
        ({"X-Service-Token": TOKEN, "Origin": "http://elsewhere.example"}, ""),
    ],
)
async def test_the_token_opens_the_api_by_header_or_query(headers: dict[str, str], query: str) -> None:
    async with worker_server(TOKEN) as server:
        assert (await server.get(f"/api/worker/stats{query}", headers=headers)).status == 200


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({}, "/api/worker/stats"),
        ({}, "/api/worker/nothing"),
        ({}, "/api/worker/stats?token="),
        ({}, "/api/worker/stats?Token=T0ken"),
        ({}, "/%61pi/worker/stats"),
        ({}, "/api/worker/%73tats"),
        ({"X-Service-Token": "wrong"}, f"/api/worker/stats?token={TOKEN}"),
        ({"X-Service-Token": TOKEN + "x"}, "/api/worker/stats"),
    ],
)
async def test_nothing_else_opens_it(headers: dict[str, str], path: str) -> None:
    async with worker_server(TOKEN) as server:
        answer = await server.get(path, headers=headers)
        assert (answer.status, answer.json()) == (401, UNAUTHORIZED)


async def test_a_token_need_not_be_text() -> None:
    token = b"\xff\xfet".decode("utf-8", "surrogateescape")
    async with worker_server(f"other,{token}") as server:
        head = b"GET /api/worker/stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        assert b" 200 OK" in await server.raw(head + b"X-Service-Token: \xff\xfet\r\n\r\n")
        assert b" 401 " in await server.raw(head + b"X-Service-Token: \xff\xff\r\n\r\n")
        assert (await server.get("/api/worker/stats?token=%ff%fet", headers={})).status in {200, 401}
        assert b" 200 OK" in await server.raw(head.replace(b"stats", b"stats?token=%FF%FEt") + b"\r\n")


async def test_unknown_paths_and_wrong_methods_are_answered_in_the_envelope() -> None:
    async with worker_server() as server:
        assert (await server.get("/nothing/here")).error() == (404, "ERR_NOT_FOUND")
        for path in ("/healthz", "/api/worker/stats"):
            wrong = await server.call("POST", path)
            assert wrong.error() == (405, "ERR_METHOD_NOT_ALLOWED")
            assert wrong.headers["Allow"] == "GET, HEAD"


async def test_a_crash_shows_nothing_of_the_insides() -> None:
    def broken() -> WorkerStats:
        raise RuntimeError("SELECT s3cret")

    guard = Guard(LOOPBACK, "")
    with capture_logs() as logs:
        async with serving(worker_app(broken, guard), guard) as server:
            answer = await server.get("/api/worker/stats?token=s3cret")
            assert (await server.get("/healthz")).status == 200
    assert answer.error() == (500, "ERR_INTERNAL")
    assert b"SELECT" not in answer.body
    [crash] = [one for one in logs if one["log_level"] == "error"]
    assert crash["path"] == "/api/worker/stats"


async def test_answers_are_dated_and_name_no_versions() -> None:
    async with worker_server() as server:
        headers = (await server.get("/healthz")).headers
        assert parsedate_to_datetime(headers["Date"]).tzinfo is not None
        assert headers["Server"] == "gorge-worker"


async def test_one_connection_serves_many_requests() -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    async with worker_server() as server:
        reader, writer = await server.connect()
        for _ in range(3):
            writer.write(request)
            assert await reader.readuntil(b"}") != b""
        writer.write(request * 2)
        assert [b"200 OK" in await reader.readuntil(b"}") for _ in range(2)] == [True, True]
        writer.close()


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"Host": "evil.example"}, "/api/worker/stats", 403),
        ({"Host": "localhost:1"}, "/api/worker/stats", 200),
        ({"Origin": "http://evil.example"}, "/api/worker/stats", 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, "/api/worker/stats", 200),
        ({"Host": "evil.example"}, "/%61pi/worker/stats", 403),
    ],
)
async def test_without_a_token_no_web_page_can_call(headers: dict[str, str], path: str, status: int) -> None:
    async with worker_server() as server:
        assert (await server.get(path, headers=headers)).status == status


async def test_beyond_loopback_any_host_is_right() -> None:
    guard = Guard(ListenAddress(None, 0), "")
    async with serving(worker_app(lambda: STATS, guard), guard) as server:
        assert (await server.get("/api/worker/stats", headers={"Host": "worker:8170"})).status == 200


async def test_every_interface_means_ipv6_too() -> None:
    guard = Guard(ListenAddress(None, 0), "")
    async with serving(worker_app(lambda: STATS, guard), guard) as server:
        reader, writer = await asyncio.open_connection("::1", server.port)
        writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200 OK" in await reader.read()
        writer.close()


async def test_a_second_client_needs_no_first_one_to_end() -> None:
    async with worker_server() as server, client(server.port) as other:
        answers = await asyncio.gather(server.get("/healthz"), other.get("/healthz"))
        assert [answer.status for answer in answers] == [200, 200]
