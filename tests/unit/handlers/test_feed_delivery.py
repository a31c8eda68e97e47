from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.errors import PermanentFailure
from gorge_worker.handlers.feed_delivery import read_delivery

URI = "https://user:secret@feed.example:8443/a%20b?key=secret"


@pytest.mark.parametrize("story", [7, 0, -1, 7714163963910349351, 10**40])
def test_a_story_is_a_form_with_its_number(story: int) -> None:
    delivery = read_delivery(json.dumps({"uri": URI, "storyID": story}))
    assert delivery is not None
    assert (delivery.uri, delivery.body) == (URI, b"storyID=%d" % story)


def test_a_snapshot_s_body_is_kept_byte_for_byte() -> None:
    body = "storyID=9&storyText=a+b%20%C3%A9ä&=&empty="
    delivery = read_delivery(json.dumps({"deliveryVersion": 1, "uri": URI, "body": body, "storyID": "x"}))
    assert delivery is not None
    assert (delivery.uri, delivery.body) == (URI, body.encode())


@pytest.mark.parametrize(
    "fields",
    [{"key": 7714163963910349351, "uri": URI}, {"key": 5}, {"deliveryVersion": 2, "uri": URI, "stories": []}],
    ids=["key", "key-alone", "later-version"],
)
def test_what_php_must_render_is_left_to_it(fields: dict[str, object]) -> None:
    assert read_delivery(json.dumps(fields)) is None


@pytest.mark.parametrize(
    "data",
    [
        "",
        "not json",
        '{"uri":',
        "5",
        "null",
        "[]",
        "{}",
        '{"uri":"http://a/"}',
        "[" * 100_000,
        '{"storyID":' + "9" * 5000,
    ],
)
def test_data_that_describes_no_story_can_never_work(data: str) -> None:
    with pytest.raises(PermanentFailure):
        read_delivery(data)


@pytest.mark.parametrize("story", [None, "7", 7.0, True, [7]])
def test_a_story_s_number_is_a_whole_number(story: object) -> None:
    with pytest.raises(PermanentFailure, match="storyID"):
        read_delivery(json.dumps({"uri": URI, "storyID": story}))


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None])
def test_a_delivery_version_that_never_was_can_never_work(version: object) -> None:
    with pytest.raises(PermanentFailure, match="deliveryVersion"):
        read_delivery(json.dumps({"deliveryVersion": version, "uri": URI, "body": ""}))


@pytest.mark.parametrize("body", [None, 5, {"storyID": 7}, "\ud800"])
def test_a_snapshot_s_body_is_text(body: object) -> None:
    with pytest.raises(PermanentFailure, match="body"):
        read_delivery(json.dumps({"deliveryVersion": 1, "uri": URI, "body": body}))


@pytest.mark.parametrize(
    "uri",
    [
        None,
        "",
        5,
        "feed.example/a",
        "//feed.example/a",
        "ftp://feed.example/a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///a",
        "http://:80/a",
        "http://feed.example:http/",
        "http://feed.example:99999/",
        "http://[::1/",
        "http://a..b/",
        "http://" + "a" * 70 + "/",
        "http://feed.example/a b",
        " http://feed.example/",
        "http://feed.example/\r\nX-Evil: 1",
        "http://feed.example/\x00",
        "http://feed.example/\ud800",
    ],
)
def test_a_uri_that_cannot_be_posted_to_can_never_work(uri: object) -> None:
    with pytest.raises(PermanentFailure, match="uri"):
        read_delivery(json.dumps({"uri": uri, "storyID": 7}))


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        (URI, "feed.example:8443"),
        ("HTTP://Feed.Example/x", "feed.example"),
        ("http://[::1]:81/", "[::1]:81"),
        ("http://bücher.example/", "bücher.example"),
    ],
)
def test_a_hook_is_named_without_what_may_be_secret(uri: str, place: str) -> None:
    delivery = read_delivery(json.dumps({"uri": uri, "storyID": 7}))
    assert delivery is not None
    assert delivery.place == place


@given(st.text(max_size=30).map("http://".__add__) | st.text(max_size=30))
def test_any_uri_is_taken_or_refused(uri: str) -> None:
    try:
        delivery = read_delivery(json.dumps({"uri": uri, "storyID": 7}))
    except PermanentFailure:
        return
    assert delivery is not None
    assert delivery.uri == uri
