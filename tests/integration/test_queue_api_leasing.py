"""No lease goes to a caller that does not get it: callers that hang up, stop reading, or outlive the server."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import pytest
import uvloop
from support.fake_service import FakeService
from support.waiting import until
from support.web import LOOPBACK, Server, fake_queue_app, json_request, queue_server

from gorge_worker.config.values import ListenAddress
from gorge_worker.web.guard import Guard
from gorge_worker.web.listen import listening_sockets
from gorge_worker.web.serving import serve

Scenario = Callable[[FakeService, Server], Awaitable[None]]
LEASE = json_request("/api/queue/lease", b'{"limit":3,"wait":30}', headers="X-Lease-Owner: o\r\n")
BIG = "x" * (8 << 20)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Scenario], FakeService]:
    """Plays a scenario on both event loops, as they differ in when they write and notice a hang-up."""

    def play(scenario: Scenario) -> FakeService:
        service = FakeService()

        async def bounded() -> None:
            async with asyncio.timeout(15), queue_server(service) as server:
                await scenario(service, server)

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(bounded())
        return service

    return play


def hang_up(sock: socket.socket, *, reset: bool) -> None:
    """Ends a connection in good order, or as a kernel does for a killed process with unread data."""
    if reset:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


@pytest.mark.parametrize("reset", [False, True])
def test_a_wait_ends_when_its_caller_hangs_up(run: Callable[[Scenario], FakeService], *, reset: bool) -> None:
    async def scenario(service: FakeService, server: Server) -> None:
        sock = connect(server.port)
        sock.sendall(LEASE)
        await until(lambda: service.waiting, what="the lease waits")
        hang_up(sock, reset=reset)
        await until(lambda: not service.waiting, what="the wait is dropped")
        task = service.add()
        assert service.owner(task.id) is None

    assert run(scenario).given_back == []


@pytest.mark.parametrize("reset", [False, True])
def test_a_task_that_comes_with_the_hang_up_is_given_back(
    run: Callable[[Scenario], FakeService], *, reset: bool
) -> None:
    async def scenario(service: FakeService, server: Server) -> None:
        sock = connect(server.port)
        sock.sendall(LEASE)
        await until(lambda: service.waiting, what="the lease waits")
        # Both happen before the server's loop runs again.
        service.add()
        hang_up(sock, reset=reset)
        await until(lambda: not service.waiting, what="the call is over")
        await until(lambda: service.owner(1) is None, what="the task is free")

    run(scenario)


def test_a_caller_that_does_not_read_gets_nothing(
    run: Callable[[Scenario], FakeService], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gorge_worker.web.connection.ANSWER_TIMEOUT", 0.2)

    async def scenario(service: FakeService, server: Server) -> None:
        service.add(data=BIG), service.add(data=BIG)
        sock = connect(server.port)
        sock.sendall(LEASE)
        await until(lambda: service.given_back == [1, 2], what="both leases are given back")
        answer = await asyncio.to_thread(read_all, sock)
        assert len(answer) < 2 * len(BIG), "the answer must not become whole after its lease has gone"

    run(scenario)


def test_an_answer_counts_as_written_only_when_the_kernel_has_all_of_it(
    run: Callable[[Scenario], FakeService], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def with_small_buffers(address: ListenAddress) -> list[socket.socket]:
        sockets = await listening_sockets(address)
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return sockets

    monkeypatch.setattr("gorge_worker.web.serving.listening_sockets", with_small_buffers)
    monkeypatch.setattr("gorge_worker.web.connection.ANSWER_TIMEOUT", 0.2)

    async def scenario(service: FakeService, server: Server) -> None:
        # More than the kernel takes here, less than asyncio would keep back without a word.
        service.add(data="x" * 50_000)
        sock = connect(server.port)
        sock.sendall(LEASE)
        await until(lambda: service.given_back == [1], what="the lease is given back")
        sock.close()

    run(scenario)


def test_a_hang_up_in_the_middle_of_an_answer_gives_the_lease_back(run: Callable[[Scenario], FakeService]) -> None:
    async def scenario(service: FakeService, server: Server) -> None:
        service.add(data=BIG), service.add(data=BIG)
        sock = connect(server.port)
        sock.sendall(LEASE)
        await until(lambda: service.owner(1) == "o", what="the tasks are leased")
        assert await asyncio.to_thread(sock.recv, 1000)
        sock.close()
        await until(lambda: service.given_back == [1, 2], what="both leases are given back")

    run(scenario)


def test_an_answer_that_was_read_stays_leased(run: Callable[[Scenario], FakeService]) -> None:
    async def scenario(service: FakeService, server: Server) -> None:
        service.add(data=BIG), service.add()
        leased = (await server.post("lease", {"limit": 2}, headers={"X-Lease-Owner": "o"})).data()
        assert [len(task["data"]) for task in leased] == [len(BIG), 2]

    service = run(scenario)
    assert service.given_back == []
    assert [service.owner(task_id) for task_id in service.active] == ["o", "o"]


def test_a_connection_is_good_for_more_leases_after_one(run: Callable[[Scenario], FakeService]) -> None:
    async def scenario(service: FakeService, server: Server) -> None:
        for expected in range(1, 4):
            service.add(data="x" * 200_000)
            [task] = (await server.post("lease", {}, headers={"X-Lease-Owner": "o"})).data()
            assert task["id"] == expected
        assert (await server.get("/healthz")).status == 200

    assert run(scenario).given_back == []


async def test_a_server_that_ends_gives_an_unread_lease_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gorge_worker.web.serving.STOP_TIMEOUT", 0.05)
    service, guard = FakeService(), Guard(LOOPBACK, "")
    service.add(data=BIG)
    async with serve(fake_queue_app(service, guard), guard) as address:
        sock = connect(address.port)
        sock.sendall(LEASE)
        await until(lambda: service.owner(1) == "o", what="the task is leased")
    assert service.given_back == [1]
    sock.close()


def connect(port: int) -> socket.socket:
    """A blocking connection whose kernel takes little that is not read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(5)
    sock.connect(("127.0.0.1", port))
    return sock


def read_all(sock: socket.socket) -> bytes:
    got = bytearray()
    try:
        while chunk := sock.recv(1 << 20):
            got += chunk
    except ConnectionResetError:
        pass
    finally:
        sock.close()
    return bytes(got)
