"""Native feed delivery over real connections."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.leases import lease_of
from support.recording_server import RecordingServer, hang, reply, reset

from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.handlers import feed_http
from gorge_worker.handlers.feed_http import FEED_CLASS, FeedHttpHandler
from gorge_worker.model import Lease, Outcome, Task, Verdict

KEYED = {"key": 7714163963910349351, "uri": "http://127.0.0.1:9/"}


@contextlib.asynccontextmanager
async def feed(**options: Any) -> AsyncIterator[FeedHttpHandler]:
    handler = FeedHttpHandler(**{"hooks": (), "fallback": None, **options})
    try:
        yield handler
    finally:
        await handler.close()


def story(uri: str, failures: int = 0) -> Lease:
    return lease_of(FEED_CLASS, json.dumps({"uri": uri, "storyID": 7714163963910349351}), failure_count=failures)


class Php:
    """Answers every task in the same way."""

    backend = "conduit"
    timeout = 7.0
    stops_when_cancelled = False
    waiting = 0

    def __init__(self, answer: Outcome | Exception) -> None:
        self.answer = answer
        self.tasks: list[Task] = []

    def retry_wait(self, task: Task) -> int | None:
        raise AssertionError(task)

    async def execute(self, lease: Lease) -> Outcome:
        self.tasks.append(lease.task)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_a_story_is_posted_to_exactly_the_uri_that_was_given() -> None:
    async with RecordingServer(reply(204)) as hook, feed() as handler:
        outcome = await handler.execute(story(f"{hook.url}/%41/a%2fb/../c;d?x=%7e&y=a%20b+c&z"))
    assert outcome == Outcome.success()
    post = hook.only()
    assert (post.method, post.target) == ("POST", "/%41/a%2fb/../c;d?x=%7e&y=a%20b+c&z")
    assert post.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert post.body == b"storyID=7714163963910349351"


async def test_a_snapshot_is_posted_byte_for_byte() -> None:
    body = "storyText=a+b%20ä&=&empty="
    async with RecordingServer() as hook, feed() as handler:
        data = json.dumps({"deliveryVersion": 1, "uri": f"{hook.url}/feed", "body": body})
        assert await handler.execute(lease_of(FEED_CLASS, data)) == Outcome.success()
    assert hook.only().body == body.encode()


async def test_a_snapshot_of_megabytes_is_posted_in_full() -> None:
    body = "x" * 3_000_000
    async with RecordingServer() as hook, feed() as handler:
        data = json.dumps({"deliveryVersion": 1, "uri": f"{hook.url}/feed", "body": body})
        assert await handler.execute(lease_of(FEED_CLASS, data)) == Outcome.success()
    assert hook.only().body == body.encode()


async def test_user_and_password_are_sent_as_such_and_never_told() -> None:
    async with RecordingServer(reply(401, "who\nare you")) as hook, feed() as handler:
        outcome = await handler.execute(story(hook.url.replace("//", "//user:hunter2@") + "/?key=hunter2"))
    assert hook.header("Authorization") == ["Basic dXNlcjpodW50ZXIy"]
    assert outcome.reason == f"{hook.url.removeprefix('http://')} answered HTTP 401: who are you"


async def test_cookies_are_not_sent_back() -> None:
    async with RecordingServer(reply(200, Set_Cookie="a=b")) as hook, feed() as handler:
        for _ in range(2):
            await handler.execute(story(hook.url))
    assert len(hook.seen) == 2
    assert hook.header("Cookie") == []


@pytest.mark.parametrize("status", [300, 400, 404, 429, 500, 503, 599])
async def test_any_other_status_is_a_temporary_failure(status: int) -> None:
    async with RecordingServer(reply(status)) as hook, feed() as handler:
        outcome = await handler.execute(story(hook.url))
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert f"HTTP {status}" in outcome.reason


async def test_a_redirect_is_not_followed() -> None:
    async with (
        RecordingServer() as elsewhere,
        RecordingServer(reply(302, Location=elsewhere.url)) as hook,
        feed() as handler,
    ):
        assert (await handler.execute(story(hook.url))).verdict is Verdict.TEMPORARY_FAILURE
    assert elsewhere.seen == []


async def test_a_hook_that_breaks_the_connection_is_a_temporary_failure() -> None:
    async with RecordingServer(reset) as hook, feed() as handler:
        outcome = await handler.execute(story(hook.url))
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE


async def test_an_unreachable_hook_is_a_temporary_failure() -> None:
    async with RecordingServer() as hook:
        pass
    async with feed() as handler:
        outcome = await handler.execute(story(hook.url.replace("//", "//user:hunter2@")))
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert "can't be reached" in outcome.reason
    assert "hunter2" not in outcome.reason


async def test_a_hook_that_does_not_answer_is_a_temporary_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_http, "TIMEOUT", 0.05)
    async with RecordingServer(hang) as hook, feed() as handler:
        outcome = await handler.execute(story(hook.url))
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert "did not answer" in outcome.reason


@pytest.mark.parametrize(("failures", "wait"), [(0, 60), (1, 120), (9, 600), (2**32 - 1, None)])
async def test_the_wait_grows_with_the_failures(failures: int, wait: int | None) -> None:
    async with RecordingServer(reply(500)) as hook, feed() as handler:
        assert (await handler.execute(story(hook.url, failures))).wait == wait


async def test_only_a_huge_answers_beginning_is_read() -> None:
    async with RecordingServer(reply(500, b"x" * 8_000_000)) as hook, feed() as handler:
        outcome = await handler.execute(story(hook.url))
    assert len(outcome.reason) < 300


async def test_a_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RecordingServer() as proxy, feed() as handler:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert await handler.execute(story("http://feed.example/a?b=c")) == Outcome.success()
    assert proxy.only().target == "http://feed.example/a?b=c"


async def test_a_proxy_that_cannot_be_used_costs_no_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "ftp://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with feed() as handler:
        assert (await handler.execute(story("http://feed.example/"))).verdict is Verdict.TEMPORARY_FAILURE


async def test_only_allowed_uris_are_posted_to() -> None:
    async with RecordingServer() as hook, feed(hooks=[f"{hook.url}/a"]) as handler:
        allowed = await handler.execute(story(f"{hook.url}/a"))
        others = [await handler.execute(story(f"{hook.url}/{path}")) for path in ("abc", "A", "a/", "a?x", "%61")]
    assert allowed == Outcome.success()
    assert {one.verdict for one in others} == {Verdict.PERMANENT_FAILURE}
    assert "FEED_HTTP_HOOKS" in others[0].reason
    assert [one.target for one in hook.seen] == ["/a"]


async def test_data_that_can_never_work_fails_for_good() -> None:
    async with feed() as handler:
        assert (await handler.execute(lease_of(FEED_CLASS, "not json"))).verdict is Verdict.PERMANENT_FAILURE


async def test_what_php_must_deliver_waits_while_there_is_none_which_is_told_once() -> None:
    async with feed() as handler:
        with capture_logs() as logs:
            outcomes = [await handler.execute(lease_of(FEED_CLASS, json.dumps(KEYED))) for _ in range(3)]
    assert {(one.verdict, one.wait) for one in outcomes} == {(Verdict.RELEASE, 60)}
    assert len(logs) == 1


async def test_what_php_must_deliver_is_handed_to_it() -> None:
    php, lease = Php(Outcome.yielded(30)), lease_of(FEED_CLASS, json.dumps(KEYED))
    async with feed(fallback=php) as handler:
        assert await handler.execute(lease) == Outcome.yielded(30)
        assert handler.timeout == 7
    assert php.tasks == [lease.task]


async def test_a_php_that_is_away_delays_its_stories_and_stops_no_others() -> None:
    php = Php(BackendUnavailable("refused", retry_after=7))
    async with RecordingServer() as hook, feed(fallback=php) as handler:
        with capture_logs() as logs:
            for _ in range(2):
                outcome = await handler.execute(lease_of(FEED_CLASS, json.dumps(KEYED)))
                assert (outcome.verdict, outcome.wait) == (Verdict.RELEASE, 60)
            assert await handler.execute(story(hook.url)) == Outcome.success()
            php.answer = Outcome.success()
            await handler.execute(lease_of(FEED_CLASS, json.dumps(KEYED)))
            php.answer = BackendUnavailable("refused again")
            await handler.execute(lease_of(FEED_CLASS, json.dumps(KEYED)))
    assert [line["reason"] for line in logs] == ["refused", "refused again"]


async def test_a_lease_that_php_calls_lost_is_lost() -> None:
    async with feed(fallback=Php(LeaseLost("no"))) as handler:
        with pytest.raises(LeaseLost):
            await handler.execute(lease_of(FEED_CLASS, json.dumps(KEYED)))
