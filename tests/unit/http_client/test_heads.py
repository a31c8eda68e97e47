from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.http_client.heads import Heads
from gorge_worker.http_client.origin import Origin


def heads(url: str = "http://queue.example:8090", **headers: str) -> Heads:
    return Heads(Origin.of(url), headers)


def written(url: str = "http://queue.example:8090", path: str = "/x", body: bytes | None = None) -> list[bytes]:
    lines = heads(url).write("GET", path, None, body).split(b"\r\n")
    assert lines[-2:] == [b"", b""]
    return lines[:-2]


def values(head: bytes, name: str) -> list[bytes]:
    lines = [line.partition(b": ") for line in head.split(b"\r\n")[1:-2]]
    return [value for key, _, value in lines if key.lower() == name.lower().encode()]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://queue.example", b"queue.example"),
        ("http://queue.example:80/", b"queue.example"),
        ("https://queue.example:443", b"queue.example"),
        ("http://queue.example:443", b"queue.example:443"),
        ("https://queue.example:80", b"queue.example:80"),
        ("http://[::1]:8090", b"[::1]:8090"),
        ("http://[::1]", b"[::1]"),
        ("http://bücher.example", b"xn--bcher-kva.example"),
        ("http://user:pass@queue.example:8090", b"queue.example:8090"),
    ],
)
def test_the_host_header_has_the_port_only_where_it_is_not_the_default(url: str, host: bytes) -> None:
    assert written(url)[1] == b"Host: " + host


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h", b"/x?a=b"),
        ("http://h/", b"/x?a=b"),
        ("http://h/base", b"/base/x?a=b"),
        ("http://h/base//", b"/base/x?a=b"),
        ("http://h/a b/ü", b"/a%20b/%C3%BC/x?a=b"),
        ("http://h/a%2Fb", b"/a%2Fb/x?a=b"),
    ],
)
def test_paths_go_below_the_base_path(url: str, target: bytes) -> None:
    assert written(url, "/x?a=b")[0] == b"GET " + target + b" HTTP/1.1"


@pytest.mark.parametrize(
    ("url", "pair"),
    [
        ("http://me:pass@h", "me:pass"),
        ("http://me@h", "me:"),
        ("http://:pass@h", ":pass"),
        ("http://m%C3%A4:se%20cr%3At%40@h", "mä:se cr:t@"),
    ],
)
def test_credentials_are_percent_decoded(url: str, pair: str) -> None:
    head = heads(url).write("GET", "/", None, None)
    assert values(head, "Authorization") == [b"Basic " + base64.b64encode(pair.encode())]


def test_without_credentials_there_is_no_authorization() -> None:
    assert values(heads().write("GET", "/", None, None), "Authorization") == []


def test_headers_of_a_call_replace_the_clients_whatever_their_case() -> None:
    head = heads(**{"X-Service-Token": "old", "X-Other": "kept"}).write("GET", "/", {"x-service-token": "new"}, None)
    assert values(head, "X-Service-Token") == [b"new"]
    assert values(head, "X-Other") == [b"kept"]
    assert values(head, "Accept-Encoding") == [b"identity"]


def test_a_call_does_not_change_the_next_ones_headers() -> None:
    writer = heads()
    writer.write("GET", "/", {"X-A": "1"}, None)
    assert values(writer.write("GET", "/", None, None), "X-A") == []


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", None, []),
        ("POST", None, [b"0"]),
        ("GET", b"", [b"0"]),
        ("POST", b"abc", [b"3"]),
        ("DELETE", None, [b"0"]),
    ],
)
def test_a_body_has_a_length(method: str, body: bytes | None, length: list[bytes]) -> None:
    assert values(heads().write(method, "/", None, body), "Content-Length") == length


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_a_header_is_one_line_or_refused(value: str) -> None:
    try:
        head = heads(**{"X-A": value}).write("GET", "/", {"X-B": value}, None)
    except ValueError:
        assert set(value) & set("\r\n\0")
        return
    assert values(head, "X-A") == values(head, "X-B") == [value.encode()]


def test_a_token_that_is_no_text_goes_out_byte_for_byte() -> None:
    head = heads(**{"X-A": b"\xff\xfe".decode("utf-8", "surrogateescape")}).write("GET", "/", None, None)
    assert values(head, "X-A") == [b"\xff\xfe"]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\n"])
def test_line_breaks_in_a_value_are_refused_without_showing_it(value: str) -> None:
    with pytest.raises(ValueError, match="X-Token can't be sent") as caught:
        heads().write("GET", "/", {"X-Token": value}, None)
    assert value not in str(caught.value)
    with pytest.raises(ValueError, match="X-Token can't be sent"):
        heads(**{"X-Token": value})


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\r\nb", "ä", "content-length", "Transfer-Encoding"])
def test_names_that_are_not_allowed_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="its name is not allowed"):
        heads().write("GET", "/", {name: "1"}, None)


@pytest.mark.parametrize("path", ["x", "", "/a b", "/ä", "/a\r\nX-Evil: 1", "/a\0", "/\n"])
def test_a_path_that_would_break_the_first_line_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        heads().write("GET", path, None, None)


@pytest.mark.parametrize("method", ["HEAD", "CONNECT", "get", "GET / HTTP/1.1\r\nX: ", ""])
def test_methods_that_the_client_does_not_do_are_refused(method: str) -> None:
    with pytest.raises(ValueError, match="the method is none of DELETE, GET"):
        heads().write(method, "/", None, None)
