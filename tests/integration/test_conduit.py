"""The Conduit client over real connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

import pytest
from support.leases import FixedClock, lease_of
from support.recording_server import RecordingServer, hang, reply, reset
from support.waiting import until

from gorge_worker.backends.conduit import calls
from gorge_worker.backends.conduit.backend import ConduitBackend
from gorge_worker.errors import BackendUnavailable
from gorge_worker.http_client import HttpClient
from gorge_worker.model import Outcome, Verdict

LEASE = lease_of("PhabricatorSearchWorker", '{"key":7714163963910349351}')
SUCCESS = '{"result":null,"error_code":null,"error_info":null}'


@contextlib.asynccontextmanager
async def client_of(url: str) -> AsyncIterator[ConduitBackend]:
    http = HttpClient(url, headers={}, connections=2)
    try:
        yield ConduitBackend(http, token="api-abc", encoding="form", timeout=None, clock=FixedClock())
    finally:
        await http.close()


async def test_a_call_arrives_as_phorge_expects_it() -> None:
    answer = reply(200, SUCCESS, Set_Cookie="phsid=x; path=/")
    async with RecordingServer(answer) as server, client_of(server.url + "/") as client:
        assert await client.execute(LEASE) == Outcome.success()
        assert await client.execute(LEASE) == Outcome.success()
    first = server.seen[1]  # after the question what the other side can do
    assert (first.method, first.target) == ("POST", "/api/worker.execute")
    assert first.headers.getall("X-Service-Token") == ["api-abc"]
    assert json.loads(parse_qs(first.body.decode())["params"][0])["data"] == LEASE.task.data
    assert server.header("Cookie") == []


async def test_five_megabytes_of_data_arrive_character_by_character() -> None:
    data = json.dumps({"body": ("plain text " * 40 + 'ä&=+%\\ "') * 11_500}, ensure_ascii=False)
    async with RecordingServer(reply(200, SUCCESS)) as server, client_of(server.url) as client:
        outcome = await client.execute(lease_of("A", data))
    assert outcome == Outcome.success()
    assert json.loads(parse_qs(server.seen[-1].body.decode())["params"][0])["data"] == data


async def test_a_redirect_is_not_followed() -> None:
    async with (
        RecordingServer() as elsewhere,
        RecordingServer(reply(307, Location=elsewhere.url)) as server,
        client_of(server.url) as client,
    ):
        with pytest.raises(BackendUnavailable, match="HTTP 307"):
            await client.execute(LEASE)
    assert elsewhere.seen == []


async def test_a_refused_connection_means_that_nothing_was_executed() -> None:
    async with RecordingServer() as server:
        pass
    async with client_of(server.url) as client:
        with pytest.raises(BackendUnavailable, match="can't connect"):
            await client.execute(LEASE)


async def test_a_broken_connection_leaves_the_outcome_unknown() -> None:
    async with RecordingServer(reset) as server, client_of(server.url) as client:
        outcome = await client.execute(LEASE)
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert outcome.reason.startswith("outcome unknown: ")
    assert len(server.seen) == 2, "the question, and the execution once"


async def test_an_answer_beyond_the_limit_leaves_the_outcome_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_ANSWER", 1000)
    async with RecordingServer(reply(200, SUCCESS + " " * 1000)) as server, client_of(server.url) as client:
        assert (await client.execute(LEASE)).reason.startswith("outcome unknown: an answer of ")


async def test_a_call_waits_until_it_is_cancelled() -> None:
    async with RecordingServer(hang) as server, client_of(server.url) as client:
        call = asyncio.create_task(client.execute(LEASE))
        await until(lambda: server.seen)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
