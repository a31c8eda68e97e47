from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.web.browsers import refuse_web_pages
from gorge_worker.web.errors import Refused

JSON = "application/json"


def request(method: str = "GET", **headers: str) -> web.Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return make_mocked_request(method, "/api/queue/enqueue", headers=named, match_info={})


def refused(asked: web.Request, *, on_loopback: bool = True) -> int | None:
    try:
        refuse_web_pages(asked, on_loopback=on_loopback)
    except Refused as refusal:
        return refusal.status
    return None


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8090", "127.0.0.1", "127.0.0.1:8090", "127.8.8.8", "[::1]:8090", "[::1]", ""]
)
def test_a_loopback_host_is_welcome(host: str) -> None:
    assert refused(request(Host=host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8090",
        "localhost.evil.example",
        "127.0.0.1@evil.example",
        "10.0.0.1",
        "[::2]",
        "[",
        "a:b:c",
    ],
)
def test_another_host_on_loopback_is_refused(host: str) -> None:
    assert refused(request(Host=host)) == 403


def test_any_host_is_right_beyond_loopback() -> None:
    assert refused(request(Host="task-queue:8090"), on_loopback=False) is None


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:9999", "http://[", "", "file://"])
def test_a_foreign_origin_is_refused(origin: str) -> None:
    assert refused(request("POST", Host="localhost:8090", Origin=origin, Content_Type=JSON)) == 403


def test_the_own_origin_is_welcome() -> None:
    own = request("POST", Host="localhost:8090", Origin="http://LOCALHOST:8090", Content_Type=JSON)
    assert refused(own) is None


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_post_of_a_type_that_a_form_can_send_is_refused(kind: str) -> None:
    assert refused(request("POST", Host="localhost", Content_Type=kind)) == 415


def test_a_post_without_a_type_is_refused() -> None:
    assert refused(request("POST", Host="localhost")) == 415


@pytest.mark.parametrize("kind", [JSON, "Application/JSON; charset=utf-8"])
def test_a_post_of_json_is_welcome(kind: str) -> None:
    assert refused(request("POST", Host="localhost", Content_Type=kind)) is None


@given(host=st.text(st.characters(codec="latin-1", exclude_categories=["Cc"])), origin=st.text())
def test_headers_of_any_kind_end_in_a_verdict(host: str, origin: str) -> None:
    assert refused(request(Host=host, Origin=origin)) in {403, None}
