"""What an HTTP face does with requests that are too long, too slow, or none at all."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from support.fake_service import FakeService
from support.web import Server, json_request, queue_server, worker_server

SECRET = "s3cret"


def head(name: str, value: str, count: int = 1) -> bytes:
    lines = f"{name}: {value}\r\n" * count
    return f"GET /api/worker/stats?token={SECRET} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode()


def envelope(answer: bytes) -> tuple[int, str]:
    """Status and code of a raw answer in the error envelope."""
    status_line, _, rest = answer.partition(b"\r\n")
    body = msgspec.json.decode(rest.partition(b"\r\n\r\n")[2])
    return int(status_line.split()[1]), body["error"]["code"]


@pytest.mark.parametrize(
    "request_bytes",
    [
        head("X-Long", "x" * 40_000),
        head("X-Many", "x" * 400, count=100),
        head("X", "y", count=1000),
        f"GET /healthz?token={SECRET}{'x' * 40_000} HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    ],
    ids=["one-long-header", "many-headers", "very-many-headers", "long-line"],
)
async def test_headers_beyond_32_kib_are_refused(request_bytes: bytes) -> None:
    with capture_logs() as logs:
        async with worker_server() as server:
            reader, writer = await server.connect(request_bytes)
            answer = await reader.readuntil(b"}}")
            writer.close()
    assert envelope(answer) == (431, "ERR_HEADERS_TOO_LARGE")
    assert SECRET not in repr(logs)


async def test_headers_below_32_kib_are_fine() -> None:
    async with worker_server() as server:
        answer = await server.get("/healthz", headers={"X-Long": "x" * 30_000})
        assert answer.status == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        f"GET /api/worker/stats?token={SECRET} HTTP/1.1\r\nX-Service-Token : {SECRET}\r\n\r\n".encode(),
        f"GET /?token={SECRET} HTTP/9.9\r\nHost: x\r\n\r\n".encode(),
        f"POST /?token={SECRET} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n".encode(),
        f"GET http://[{SECRET} HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    ],
)
async def test_what_is_not_http_gets_an_answer_and_the_log_no_word_of_it(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with capture_logs() as logs:
        async with worker_server() as server:
            assert envelope(await server.raw(request_bytes)) == (400, "ERR_BAD_REQUEST")
            assert (await server.get("/healthz")).status == 200
    assert SECRET not in repr(logs) + caplog.text
    assert "a malformed request was refused" in repr(logs)


async def test_repeated_garbage_is_logged_once() -> None:
    with capture_logs() as logs:
        async with worker_server() as server:
            for _ in range(3):
                await server.raw(b"hello\r\n\r\n")
    levels = [one["log_level"] for one in logs if one["event"].startswith("a malformed request")]
    assert levels == ["warning", "debug", "debug"]


@settings(max_examples=50, deadline=None)
@given(
    path=st.binary(max_size=40),
    header=st.binary(max_size=40),
    method=st.sampled_from([b"GET", b"POST", b"OPTIONS", b"CONNECT", b"PUT"]),
)
def test_bytes_of_any_kind_never_crash_it(method: bytes, path: bytes, header: bytes) -> None:
    async def attack() -> bytes:
        async with queue_server(FakeService()) as server:
            request = method + b" /" + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Lease-Owner: "
            reader, writer = await server.connect(request + header + b"\r\nContent-Length: 2\r\n\r\n{}")
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            assert (await server.get("/healthz")).status == 200
            return answer

    assert b" 500 " not in asyncio.run(attack()).partition(b"\r\n")[0]


async def test_an_unmeetable_expectation_is_refused_in_the_envelope() -> None:
    async with worker_server() as server:
        for path in ("/healthz", "/nothing"):
            request = f"GET {path} HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n"
            assert envelope(await server.raw(request.encode())) == (417, "ERR_EXPECTATION_FAILED")


@pytest.mark.parametrize(("route", "most"), [("complete", 1 << 20), ("lease", 1 << 20), ("enqueue", 16 << 20)])
async def test_a_body_beyond_its_limit_is_refused(route: str, most: int) -> None:
    async with queue_server(FakeService()) as server:
        announced = json_request(f"/api/queue/{route}", b"", length=most + 1)
        reader, writer = await server.connect(announced)
        assert envelope(await reader.readuntil(b"}}")) == (413, "ERR_TOO_LARGE")
        writer.close()
        assert (await server.post(route, b" " * most)).error() == (400, "ERR_BAD_REQUEST")


async def test_a_chunked_body_beyond_the_limit_is_refused() -> None:
    async def chunks() -> asyncio.AsyncIterator[bytes]:  # type: ignore[name-defined]
        for _ in range(20):
            yield b" " * (1 << 16)

    async with queue_server(FakeService()) as server:
        answer = await server.call(
            "POST", "/api/queue/lease", data=chunks(), headers={"Content-Type": "application/json"}
        )
        assert answer.error() == (413, "ERR_TOO_LARGE")


async def test_a_task_may_carry_megabytes() -> None:
    service = FakeService()
    async with queue_server(service) as server:
        (await server.post("enqueue", {"taskClass": "A", "data": "x" * (15 << 20)})).data()
        assert len(service.active[1].data) == 15 << 20


async def test_a_compressed_body_is_refused() -> None:
    async with queue_server(FakeService()) as server:
        answer = await server.post("lease", b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
        assert answer.error() == (415, "ERR_UNSUPPORTED_MEDIA_TYPE")


async def test_a_broken_chunk_is_a_bad_request() -> None:
    request = b"POST /api/queue/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    async with queue_server(FakeService()) as server:
        assert envelope(await server.raw(request + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")) == (
            400,
            "ERR_BAD_REQUEST",
        )


async def test_a_body_that_never_comes_ends_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.web.bodies.BODY_TIMEOUT", 0.05)
    async with queue_server(FakeService()) as server:
        reader, writer = await server.connect(json_request("/api/queue/enqueue", b'{"taskClass"', length=90))
        assert envelope(await reader.readuntil(b"}}")) == (408, "ERR_TIMEOUT")
        writer.close()


async def test_headers_that_never_end_close_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.web.connection.KEEP_ALIVE", 0.05)
    async with worker_server() as server:
        assert await server.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ") == b""


async def test_slow_senders_and_idle_connections_stop_nobody() -> None:
    service = FakeService()
    async with queue_server(service) as server:
        half = json_request("/api/queue/enqueue", b'{"taskClass":"Half"', length=90)
        slow = [await server.connect(half) for _ in range(20)]
        idle = await asyncio.gather(*[server.connect() for _ in range(500)])
        assert (await server.post("enqueue", {"taskClass": "Whole"})).status == 200
        for _, writer in [*slow, *idle]:
            writer.close()
        assert (await server.get("/api/queue/stats")).data()["activeCount"] == 1
    assert [task.task_class for task in service.active.values()] == ["Whole"]


async def test_a_caller_that_leaves_in_the_middle_of_a_body_is_no_trouble() -> None:
    with capture_logs() as logs:
        async with queue_server(FakeService()) as server:
            await leave(server, json_request("/api/queue/enqueue", b"{", length=90))
            assert (await server.get("/healthz")).status == 200
    assert [one for one in logs if one["log_level"] == "error"] == []


async def leave(server: Server, request: bytes) -> None:
    _, writer = await server.connect(request)
    writer.close()
    await writer.wait_closed()
