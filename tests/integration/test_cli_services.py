from __future__ import annotations

import json
import os
import re
import signal
import socket
from asyncio.subprocess import Process
from pathlib import Path

import pytest
from support.command import run, started


def settings(**more: str) -> dict[str, str]:
    """Both addresses on free ports, and what else is given."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other)]
    return {"LISTEN_ADDR": addresses[0], "QUEUE_LISTEN_ADDR": addresses[1], **more}


async def logged(process: Process, event: str) -> dict[str, object]:
    """The next JSON line of an event."""
    assert process.stderr is not None
    seen: list[bytes] = []
    async for line in process.stderr:
        seen.append(line)
        fields: dict[str, object] = json.loads(line)
        if fields["event"] == event:
            return fields
    raise AssertionError(f"no {event!r} in {seen}")


async def listening(process: Process, address: str) -> None:
    while (await logged(process, "listening"))["address"] != address:
        pass


async def end(process: Process) -> int | None:
    process.send_signal(signal.SIGTERM)
    await process.communicate()
    return process.returncode


@pytest.mark.limit(40)
async def test_what_is_enqueued_in_standalone_is_executed(tmp_path: Path) -> None:
    own = settings(NOOP_CLASSES="Nothing", SERVICE_TOKEN="old,new", LOG_LEVEL="info")
    async with started("standalone", "--data", "queue", settings=own, folder=tmp_path) as process:
        await listening(process, own["LISTEN_ADDR"])
        assert (await run("health", settings=own)).code == 0
        assert (await run("health", f"http://{own['QUEUE_LISTEN_ADDR']}")).code == 0
        enqueued = await run("enqueue", "Nothing", "5", settings=own)
        assert (enqueued.code, enqueued.out) == (0, f"enqueued task 1 at http://{own['QUEUE_LISTEN_ADDR']}\n")
        assert (await logged(process, "task executed"))["task"] == 1
        assert await end(process) == 0
    assert (await run("health", settings=own)).code == 1


@pytest.mark.limit(40)
async def test_a_worker_and_a_queue_server_are_configured_by_a_file(tmp_path: Path) -> None:
    own = settings(SERVICE_TOKEN="hunter2", TASK_QUEUE_TOKEN="hunter2", NOOP_CLASSES="Nothing")
    own["TASK_QUEUE_URL"] = f"http://{own['QUEUE_LISTEN_ADDR']}"
    file = tmp_path / "both.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
    store = f"sqlite:///{tmp_path}/queue.db"
    async with (
        started("queue", "--store", store, "--env-file", str(file)) as server,
        started("run", "--env-file", str(file)) as worker,
    ):
        await listening(server, own["QUEUE_LISTEN_ADDR"])
        await listening(worker, own["LISTEN_ADDR"])
        assert (await run("enqueue", "Nothing", settings=own)).code == 0
        assert (await logged(worker, "task executed"))["task_class"] == "Nothing"
        assert await end(worker) == 0
        assert await end(server) == 0


async def test_the_listen_option_wins_over_the_environment(tmp_path: Path) -> None:
    own, other = settings(), settings()["LISTEN_ADDR"]
    store = f"sqlite:///{tmp_path}/queue.db"
    async with started("queue", "--store", store, "--listen", other, settings=own) as server:
        await listening(server, other)
        assert await end(server) == 0


@pytest.mark.parametrize("command", [["run"], ["standalone"], ["queue", "--store", "sqlite:///queue.db"]])
async def test_an_address_in_use_has_exit_code_1_and_a_message(command: list[str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = await run(*command, settings={"LISTEN_ADDR": address, "QUEUE_LISTEN_ADDR": address}, folder=tmp_path)
    assert ended.code == 1
    assert re.search(rf"^gorge-worker: .*{re.escape(address)}", ended.err, re.MULTILINE)


async def test_a_database_that_cannot_be_opened_has_exit_code_1_and_a_message(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "queue.db"
    ended = await run("queue", "--store", f"sqlite:///{path}", settings=settings())
    assert ended.code == 1
    assert re.search(rf"^gorge-worker: .*{re.escape(str(path.parent))}", ended.err, re.MULTILINE)


async def test_no_secret_is_logged(tmp_path: Path) -> None:
    own = settings(SERVICE_TOKEN="hunter1", CONDUIT_URL="http://user:hunter2@127.0.0.1:9", CONDUIT_TOKEN="hunter3")
    async with started("standalone", settings=own | {"LOG_LEVEL": "debug"}, folder=tmp_path) as process:
        assert process.stderr is not None
        log = await process.stderr.readuntil(own["LISTEN_ADDR"].encode())
        process.send_signal(signal.SIGTERM)
        _, rest = await process.communicate()
    assert process.returncode == 0
    assert b"hunter" not in log + rest


@pytest.mark.limit(40)
async def test_a_broken_standard_error_stops_nothing(tmp_path: Path) -> None:
    own = settings(NOOP_CLASSES="Nothing")
    reader, writer = os.pipe()
    os.close(reader)
    async with started("standalone", settings=own, folder=tmp_path, stderr=writer) as process:
        os.close(writer)
        while (await run("health", settings=own)).code != 0:
            assert process.returncode is None
        assert (await run("enqueue", "Nothing", settings=own)).code == 0
        assert await end(process) == 0
