from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from support.command import Ended, run
from support.recording_server import RecordingServer, reply, reset

from gorge_worker.cli.enqueue import LONGEST_DATA

CREATED = reply(200, '{"data": {"id": 41, "taskClass": "A"}}')


async def enqueue(server: RecordingServer, *arguments: str, stdin: bytes = b"", **settings: str) -> Ended:
    return await run("enqueue", *arguments, settings={"TASK_QUEUE_URL": server.url, **settings}, stdin=stdin)


def body(server: RecordingServer) -> Any:
    return json.loads(server.only().body)


async def test_a_task_is_enqueued_and_its_id_printed() -> None:
    async with RecordingServer(CREATED) as server:
        ended = await enqueue(server, "A", "5")
        assert (ended.code, ended.err, ended.out) == (0, "", f"enqueued task 41 at {server.url}\n")
        sent = server.only()
        assert (sent.method, sent.target) == ("POST", "/api/queue/enqueue")
        assert sent.headers["Content-Type"] == "application/json"
        assert "X-Service-Token" not in sent.headers
        assert body(server) == {"taskClass": "A", "data": "5"}


async def test_every_option_is_sent_under_its_column_name() -> None:
    async with RecordingServer(CREATED) as server:
        options = ["--priority", "1000", "--object", "PHID-TASK-1", "--container", "PHID-PROJ-1", "--delay", "0"]
        assert (await enqueue(server, "A", *options)).code == 0
        assert body(server) == {
            "taskClass": "A",
            "data": "{}",
            "priority": 1000,
            "objectPHID": "PHID-TASK-1",
            "containerPHID": "PHID-PROJ-1",
        }


@pytest.mark.parametrize(
    "data", ['{"key":7714163963910349351}', '"\N{SNOWMAN}"', ' {"a" : 1.0}\n', '"\\ud800"', "[1,\r\n2]"]
)
async def test_data_is_sent_byte_for_byte(data: str) -> None:
    for arguments, stdin in ((["A", data], b""), (["A", "-"], data.encode())):
        async with RecordingServer(CREATED) as server:
            ended = await enqueue(server, *arguments, stdin=stdin)
            assert (ended.code, ended.err) == (0, "")
            assert body(server)["data"] == data


async def test_data_that_is_not_json_is_sent_with_a_warning() -> None:
    async with RecordingServer(CREATED) as server:
        ended = await enqueue(server, "A", "{uri: x}")
        assert ended.code == 0
        assert "warning: the data is not JSON" in ended.err
        assert body(server)["data"] == "{uri: x}"


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [(b'"\xff"', "is not UTF-8, at byte 1"), (b"0" * (LONGEST_DATA + 1), "is longer than 16777216 bytes")],
)
async def test_data_that_cannot_be_sent_is_misuse(stdin: bytes, reason: str) -> None:
    async with RecordingServer(CREATED) as server:
        ended = await enqueue(server, "A", "-", stdin=stdin)
        assert (ended.code, server.seen) == (2, [])
        assert reason in ended.err


async def test_an_argument_that_is_not_utf8_is_misuse() -> None:
    async with RecordingServer(CREATED) as server:
        ended = await enqueue(server, "A", '"\udcff"')
        assert (ended.code, server.seen) == (2, [])
        assert "DATA is not UTF-8" in ended.err


async def test_a_delay_is_counted_on_the_queues_clock() -> None:
    async with RecordingServer(reply(200, '{"data": {"id": 41}}', Date="Thu, 01 Jan 1970 00:16:40 GMT")) as server:
        assert (await enqueue(server, "A", "--delay", "60")).code == 0
        assert [one.target for one in server.seen] == ["/healthz", "/api/queue/enqueue"]
        assert json.loads(server.seen[1].body)["delayUntil"] == 1060


async def test_the_option_wins_over_the_environment() -> None:
    async with RecordingServer(CREATED) as server, RecordingServer(CREATED) as other:
        ended = await enqueue(server, "A", "--queue", f"{other.url}/base/")
        assert ended.code == 0
        assert server.seen == []
        assert other.only().target == "/base/api/queue/enqueue"


async def test_this_machines_standalone_is_the_default() -> None:
    async with RecordingServer(CREATED) as server:
        address = server.url.removeprefix("http://")
        ended = await run("enqueue", "A", settings={"QUEUE_LISTEN_ADDR": address, "SERVICE_TOKEN": " one , two"})
        assert (ended.code, ended.out) == (0, f"enqueued task 41 at {server.url}\n")
        assert server.header("X-Service-Token") == ["one"]


async def test_the_queues_token_is_sent() -> None:
    async with RecordingServer(CREATED) as server:
        await enqueue(server, "A", TASK_QUEUE_TOKEN="queue-token", SERVICE_TOKEN="own")
        assert server.header("X-Service-Token") == ["queue-token"]


async def test_this_machines_own_token_goes_to_no_other_queue() -> None:
    async with RecordingServer(CREATED) as server:
        await enqueue(server, "A", SERVICE_TOKEN="own")
        await enqueue(server, "A", "--queue", server.url, SERVICE_TOKEN="own")
        assert len(server.seen) == 2
        assert server.header("X-Service-Token") == []


async def test_credentials_in_the_url_are_sent_but_not_shown() -> None:
    async with RecordingServer(CREATED) as server:
        url = server.url.replace("http://", "http://user:hunter%402@")
        ended = await enqueue(server, "A", TASK_QUEUE_URL=url)
        assert ended.out == f"enqueued task 41 at {server.url.replace('http://', 'http://user:***@')}\n"
        assert server.header("Authorization") == ["Basic " + base64.b64encode(b"user:hunter@2").decode()]


async def test_a_refusal_is_said_in_the_queues_words_without_the_token() -> None:
    refusal = reply(400, '{"error": {"code": "ERR_BAD_REQUEST", "message": "no \\u001b[31m queue-token here"}}')
    async with RecordingServer(refusal) as server:
        ended = await enqueue(server, "A", TASK_QUEUE_TOKEN="queue-token")
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == f"gorge-worker: {server.url} did not take the task: it answered 400: no [31m *** here\n"


async def test_a_wrong_token_says_what_to_set() -> None:
    async with RecordingServer(reply(401, "{}")) as server:
        ended = await enqueue(server, "A")
        assert ended.code == 1
        assert "TASK_QUEUE_TOKEN" in ended.err


@pytest.mark.parametrize(
    "answer", ["<html>welcome</html>", "", "[]", '{"data": {}}', '{"data": {"id": "x"}}', "[" * 100_000]
)
async def test_an_answer_of_something_else_is_a_failure(answer: str) -> None:
    async with RecordingServer(reply(200, answer)) as server:
        ended = await enqueue(server, "A")
        assert (ended.code, ended.out) == (1, "")
        assert f"{server.url} is no task queue" in ended.err


async def test_a_lost_answer_is_said_to_leave_it_open() -> None:
    async with RecordingServer(reset) as server:
        ended = await enqueue(server, "A")
        assert ended.code == 1
        assert "the task may have been enqueued or not" in ended.err


async def test_a_queue_in_a_file_needs_a_server() -> None:
    ended = await run("enqueue", "A", settings={"TASK_QUEUE_URL": "sqlite:///queue.db"})
    assert ended.code == 2
    assert "--queue" in ended.err
