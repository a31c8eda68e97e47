from __future__ import annotations

from http.client import HTTPMessage
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.cli.http import Answer, _headers, _target


def answer(body: bytes, status: int = 400) -> Answer:
    return Answer(status, HTTPMessage(), body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"code": "ERR_X", "message": "no such task"}}', "it answered 400: no such task"),
        (b'{"error": {"message": 5}}', 'it answered 400: {"error": {"message": 5}}'),
        (b"<h1>Bad\r\nGateway</h1>", "it answered 400: <h1>Bad Gateway</h1>"),
        (b"[]", "it answered 400: []"),
        (b"", "it answered 400"),
        (b"\xff", "it answered 400: \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_an_answer_tells_its_reason(body: bytes, reason: str) -> None:
    assert answer(body).reason() == reason


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_any_body_makes_one_short_line(body: bytes) -> None:
    reason = answer(body).reason()
    assert reason.isprintable()
    assert len(reason) < 300


def test_a_secret_that_is_repeated_is_masked() -> None:
    assert answer(b"bad token tok-secret").reason(hide="tok-secret") == "it answered 400: bad token ***"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://host", "/"),
        ("http://host/", "/"),
        ("http://host//a/%20b;c", "//a/%20b;c"),
        ("http://host/a?b=c&d=e%26", "/a?b=c&d=e%26"),
        ("http://host?b", "/?b"),
        ("http://host/\N{SNOWMAN}#part", "/%E2%98%83"),
    ],
)
def test_what_is_asked_for_is_the_urls_path_and_query(url: str, target: str) -> None:
    assert _target(urlsplit(url)) == target


def test_a_token_is_sent_as_its_bytes() -> None:
    parts = urlsplit("http://host")
    assert _headers(parts, None, "\udcff\N{SNOWMAN}")["X-Service-Token"] == b"\xff\xe2\x98\x83"
    assert "X-Service-Token" not in _headers(parts, None, "")
    assert "Content-Type" not in _headers(parts, None, "")
