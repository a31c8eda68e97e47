from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gorge_worker.config.values import (
    ListenAddress,
    Refused,
    is_loopback,
    mask_url,
    parse_base_url,
    parse_http_url,
    parse_queue_url,
    parse_store_url,
    url_secrets,
)

HOSTS = st.sampled_from(["queue", "queue.example.com", "127.0.0.1", "[::1]"])
SECRETS = st.text(min_size=6).filter(lambda text: "\N{SNOWMAN}" not in text).map(lambda text: f"\N{SNOWMAN}{text}")


def refuses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        (":8170", None, 8170),
        ("127.0.0.1:8170", "127.0.0.1", 8170),
        ("localhost:1", "localhost", 1),
        ("task-queue.example:65535", "task-queue.example", 65535),
        ("[::1]:8170", "::1", 8170),
        ("[::]:8170", "::", 8170),
        ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
    ],
)
def test_an_address_is_read_and_written_alike(text: str, host: str | None, port: int) -> None:
    address = ListenAddress.parse(text)
    assert address == ListenAddress(host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8170",
        ":",
        ":0",
        ":65536",
        ":99999",
        ":http",
        ":+1",
        ":\N{FULLWIDTH DIGIT EIGHT}",
        "::1:80",
        "[::1]",
        "[host]:80",
        "a b:80",
        ":80\n",
        "http://h:80",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    assert refuses(ListenAddress.parse, text)


@given(st.one_of(st.text(), st.from_regex(r"\[?[0-9a-f:.%]*\]?:[0-9]*")))
def test_any_text_is_an_address_or_a_value_error(text: str) -> None:
    try:
        address = ListenAddress.parse(text)
    except ValueError:
        return
    assert ListenAddress.parse(str(address)) == address


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_loopback_hosts_are_known(host: str) -> None:
    assert is_loopback(host)
    assert ListenAddress(host, 1).loopback


@pytest.mark.parametrize("host", [None, "0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com"])  # noqa: S104
def test_other_hosts_are_not_loopback(host: str | None) -> None:
    assert not ListenAddress(host, 1).loopback


@pytest.mark.parametrize(
    ("text", "host"),
    [(":1", "127.0.0.1"), ("0.0.0.0:1", "127.0.0.1"), ("[::]:1", "[::1]"), ("queue:1", "queue"), ("[::2]:1", "[::2]")],
)
def test_a_client_on_this_machine_is_told_a_host_that_it_can_reach(text: str, host: str) -> None:
    assert ListenAddress.parse(text).reachable_host == host


@pytest.mark.parametrize(
    "url",
    ["http://task-queue:8090", "https://phorge.example.com/", "http://u:p@[::1]:80/base", "HTTP://host", "http://h:"],
)
def test_base_urls_are_kept_as_written(url: str) -> None:
    assert parse_base_url(url) == url
    assert parse_queue_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "task-queue:8090",
        "//host",
        "ftp://host",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://:80",
        "http://h:99999",
        "http://h:0",
        "http://h:port",
        "http://[::1",
        "http://ho st",
        "http://host\n",
        "ht\ttp://host",
        "http://host\udc80",
    ],
)
def test_what_is_no_http_url_is_refused(url: str) -> None:
    for parse in (parse_http_url, parse_base_url, parse_queue_url):
        assert refuses(parse, url)


def test_only_a_base_url_must_have_no_query_and_no_fragment() -> None:
    for url in ("http://host/?a=b", "http://host/#a"):
        assert parse_http_url(url) == url
        assert refuses(parse_base_url, url)


@pytest.mark.parametrize("url", ["sqlite:///queue.db", "sqlite:////var/lib/my queue.db"])
def test_a_store_is_a_file(url: str) -> None:
    assert parse_store_url(url) == url
    assert parse_queue_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:p%40ss@db:3307/phabricator_worker?ssl_ca=/ca.pem",
        "MariaDB://me@[::1]/t",
        "mysql://me@/t?unix_socket=s",
    ],
)
def test_a_store_is_a_database(url: str) -> None:
    assert parse_store_url(url) == url
    assert parse_queue_url(url) == url
    assert refuses(parse_base_url, url)


def test_a_databases_url_is_refused_with_the_reason() -> None:
    for parse in (parse_store_url, parse_queue_url):
        with pytest.raises(Refused, match=r"unknown option 'charset': there are unix_socket, ssl, ssl_ca"):
            parse("mysql://me:secret@db/tasks?charset=utf8")


@pytest.mark.parametrize("url", ["sqlite:", "sqlite:///", "sqlite:////folder/", "sqlite://host/a.db", "sqlite:///a\0b"])
def test_what_is_no_store_is_refused(url: str) -> None:
    for parse in (parse_store_url, parse_queue_url):
        assert refuses(parse, url)


@given(st.text(), st.sampled_from([parse_http_url, parse_base_url, parse_queue_url, parse_store_url]))
@example("http://[", parse_http_url)
def test_any_text_is_a_url_or_a_value_error(text: str, parse: Callable[[str], str]) -> None:
    for url in (text, f"http://{text}", f"sqlite:///{text}", f"mysql://{text}", f"mysql://u@h/d?{text}"):
        try:
            assert parse(url) == url
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:80/path", "http://host:80/path"),
        ("http://user:secret@host/path", "http://user:***@host/path"),
        ("http://user:@host", "http://***@host"),
        ("http://token@host", "http://***@host"),
        ("http://:secret@host", "http://:***@host"),
        ("ftp://user:sec/r@t?@host", "ftp://user:***@host"),
        ("user:secret@host:80", "user:***@host:80"),
        ("https://host/hook?token=secret#more", "https://host/hook?***"),
        ("https://host/hook#secret", "https://host/hook#***"),
        ("mysql://me:secret@host/tasks", "mysql://me:***@host/tasks"),
        ("mysql://me:sec%40ret@host/tasks", "mysql://me:***@host/tasks"),
        ("MariaDB://me@host/tasks", "MariaDB://me@host/tasks"),
        ("mysql://me:@host/tasks", "mysql://me@host/tasks"),
        ("mysql://me:secret@/tasks?unix_socket=/run/s", "mysql://me:***@/tasks?unix_socket=/run/s"),
        ("mysql://me:secret@h/t?ssl=true&ssl_ca=/ca.pem", "mysql://me:***@h/t?ssl=true&ssl_ca=/ca.pem"),
        ("mysql://me@host/tasks?password=secret", "mysql://me@host/tasks?***"),
        ("mysql://me@host/tasks?ssl=true&password=secret", "mysql://me@host/tasks?***"),
        ("mysql://me@host/tasks?ssl=true#secret", "mysql://me@host/tasks?***"),
        ("mysql://me@host/tasks#secret", "mysql://me@host/tasks#***"),
        ("mysql://me/secret@host/tasks", "mysql://***@host/tasks"),
        ("mysql://me:sec/ret?a=b@host/tasks", "mysql://me:***@host/tasks"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_urls_are_shown_without_credentials(url: str, shown: str) -> None:
    assert mask_url(url) == shown


@given(SECRETS, HOSTS, st.sampled_from(["http://", "ftp://", "", "sqlite:///", "http:/", "://", "mysql://", "mysql:"]))
def test_masking_never_leaks_a_password_or_a_query(secret: str, host: str, scheme: str) -> None:
    for url in (
        f"{scheme}user:{secret}@{host}",
        f"{scheme}:{secret}@{host}/path",
        f"{scheme}u:{secret}@{host}/path?ssl_ca=a",
        f"{scheme}{host}/?token={secret}",
        f"{scheme}u:{secret}@{host}?{secret}",
    ):
        assert "\N{SNOWMAN}" not in mask_url(url)


@given(SECRETS, HOSTS, st.sampled_from(["http://", "ftp://", "", "sqlite:///", "http:/", "://"]))
def test_a_user_without_a_password_may_be_a_token(secret: str, host: str, scheme: str) -> None:
    assert "\N{SNOWMAN}" not in mask_url(f"{scheme}{secret.replace(':', '')}@{host}")


def test_the_secrets_of_a_url_are_named_as_written_and_decoded() -> None:
    assert set(url_secrets("http://user:p%40ss@host")) == {"p%40ss", "p@ss"}
    assert url_secrets("http://token@host") == ["token"]
    assert url_secrets("http://host/path") == []
    assert set(url_secrets("mysql://me:p%40ss@host/tasks")) == {"p%40ss", "p@ss"}
    assert url_secrets("mysql://root@host/tasks") == [], "a log that hides the word root is of no use"
