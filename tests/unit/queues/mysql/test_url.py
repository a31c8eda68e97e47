from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.errors import ConfigurationError
from gorge_worker.queues.mysql.url import OPTIONS, MysqlAddress, is_mysql, mysql_address

PARTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
PLACE = {"user": "me", "host": "db", "database": "phabricator_worker"}


def address(**fields: object) -> MysqlAddress:
    return MysqlAddress(**({"password": ""} | PLACE | fields))  # type: ignore[arg-type]


def said(url: str) -> str:
    """Why a URL is refused; nothing when it is taken."""
    try:
        mysql_address(url)
    except ConfigurationError as error:
        return str(error)
    return ""


def refusal(url: str) -> str:
    assert said(url)
    return said(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mysql://me:pw@db:3307/phabricator_worker", {"password": "pw", "port": 3307}),
        ("mysql://me:pw@db/phabricator_worker", {"password": "pw", "port": 3306}),
        ("MariaDB://me:pw@db/phabricator_worker", {"password": "pw"}),
        ("mysql://me@db/phabricator_worker", {}),
        ("mysql://me:@db/phabricator_worker", {}),
        ("mysql://m%65:p%40s%2Fs%3Aw%23@db/phabricator%5Fworker", {"password": "p@s/s:w#"}),
        ("mysql://me:p@s:s@db/phabricator_worker", {"password": "p@s:s"}),
        ("mysql://me:a+b@db/phabricator_worker", {"password": "a+b"}),
        ("mysql://me@[2001:db8::1]/phabricator_worker", {"host": "2001:db8::1"}),
        ("mysql://me@[::1]:3307/phabricator_worker", {"host": "::1", "port": 3307}),
        (
            "mysql://me@/phabricator_worker?unix_socket=/run/mysqld/mysqld.sock",
            {"host": "localhost", "unix_socket": "/run/mysqld/mysqld.sock"},
        ),
        ("mysql://me@db/phabricator_worker?ssl=true", {"tls": True}),
        ("mysql://me@db/phabricator_worker?ssl=0", {}),
        ("mysql://me@db/phabricator_worker?ssl_verify_identity=true", {"tls": True}),
        ("mysql://me@db/phabricator_worker?ssl_verify_identity=false", {"verify_identity": False}),
        ("mysql://me@db/phabricator_worker?ssl=TRUE&ssl_verify_identity=0", {"tls": True, "verify_identity": False}),
        ("mysql://me@db/phabricator_worker?ssl_ca=/etc/ca%20s.pem", {"tls": True, "ssl_ca": "/etc/ca s.pem"}),
        (
            "mysql://me@db/phabricator_worker?ssl_ca=ca&ssl_cert=c&ssl_key=k&ssl_verify_identity=False",
            {"tls": True, "ssl_ca": "ca", "ssl_cert": "c", "ssl_key": "k", "verify_identity": False},
        ),
    ],
)
def test_a_url_is_read(url: str, expected: dict[str, object]) -> None:
    assert mysql_address(url) == address(**expected)


def test_the_token_is_the_password_where_the_url_has_none() -> None:
    assert mysql_address("mysql://me@db/tasks", "to:ken%40").password == "to:ken%40"
    assert mysql_address("mysql://me:own@db/tasks", "token").password == "own"
    assert mysql_address("mysql://me:@db/tasks", "token").password == ""


@given(user=PARTS, password=PARTS, database=PARTS)
def test_whatever_is_percent_encoded_is_read_back(user: str, password: str, database: str) -> None:
    url = f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@db/{quote(database, safe='')}"
    assert mysql_address(url) == address(user=user, password=password, database=database)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql:", "there is no // after the scheme"),
        ("mysql:/me@db/tasks", "there is no // after the scheme"),
        ("mysql+pymysql://me@db/tasks", "it does not begin with mysql://"),
        ("http://me@db/tasks", "it does not begin with mysql://"),
        ("mysql://", "it names no user"),
        ("mysql://db/tasks", "it names no user"),
        ("mysql://:pw@db/tasks", "it names no user"),
        ("mysql://me@db", "it names no database"),
        ("mysql://me@db/", "it names no database"),
        ("mysql://me@db/a/b", "it names no database"),
        ("mysql://me@/tasks", "it names neither host nor unix_socket"),
        ("mysql://me@db:0/tasks", "its port must be from 1 to 65535"),
        ("mysql://me@db:65536/tasks", "not the URL of a database"),
        ("mysql://me@db:port/tasks", "not the URL of a database"),
        ("mysql://me@[::1/tasks", "not the URL of a database"),
        ("mysql://me@db/tasks#more", "it has a #"),
        ("mysql://me@db/ta sks", "a space or a control character"),
        ("mysql://me@db/tasks\n", "a space or a control character"),
        ("mysql://me:%FF@db/tasks", "a password that is not UTF-8"),
        ("mysql://m%00e@db/tasks", "a user with a null character"),
        ("mysql://me@db/tasks?charset=utf8", "unknown option 'charset'"),
        ("mysql://me@db/tasks?ssl", "not written as name=value"),
        ("mysql://me@db/tasks?ssl=true&", "not written as name=value"),
        ("mysql://me@db/tasks?ssl=true&ssl=false", "one of its options twice"),
        ("mysql://me@db/tasks?ssl=yes", "ssl='yes': it takes true or false"),
        ("mysql://me@db/tasks?ssl_verify_identity=no", "ssl_verify_identity='no': it takes true or false"),
        ("mysql://me@db/tasks?ssl_ca=", "an option without a value"),
        ("mysql://me@db/tasks?ssl=false&ssl_ca=/ca.pem", "ssl=false, and options of TLS beside it"),
        ("mysql://me@db/tasks?ssl=0&ssl_verify_identity=1", "ssl=false, and options of TLS beside it"),
        ("mysql://me@db/tasks?ssl_ca=/ca.pem&ssl_key=/key.pem", "an ssl_key without its ssl_cert"),
    ],
)
def test_what_can_not_be_read_is_refused_with_the_reason(url: str, reason: str) -> None:
    assert reason in refusal(url)


def test_an_unknown_option_is_answered_with_those_that_there_are() -> None:
    assert all(name in refusal("mysql://me@db/tasks?sslmode=require") for name in OPTIONS)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(lambda text: f"hunter{text}2"),
    st.sampled_from(["mysql://me:{}@db", "mysql://me:{}@db/a?b=c", "mysql://me:{}@db:x/a", "mysql://{}@", "mysql:{}"]),
)
def test_no_refusal_repeats_a_password_however_it_is_written(secret: str, form: str) -> None:
    assert "hunter" not in said(form.format(secret))


@pytest.mark.parametrize(
    "mistyped", ["hunter/2", "hunter?2", "1/hunter?hunter=hunter", "1/a?hunter=2", "x@y/a?hunter=2"]
)
def test_a_password_that_was_not_encoded_is_not_repeated(mistyped: str) -> None:
    assert "hunter" not in refusal(f"mysql://me:{mistyped}@db/tasks")


def test_an_address_is_shown_without_its_password() -> None:
    url = mysql_address("mysql://me:hunter2@[::1]/tasks")
    assert url.shown == "tasks of me at [::1]:3306"
    assert "hunter2" not in f"{url} {url!r}"
    assert mysql_address("mysql://me:hunter2@/tasks?unix_socket=/s").shown == "tasks of me at /s"


def test_the_scheme_tells_whose_url_it_is() -> None:
    assert all(map(is_mysql, ("mysql://", "MYSQL:", "mariadb://a")))
    assert not any(map(is_mysql, ("", "mysqlx://a", "sqlite:///mysql", "http://mysql:1", "mysql+pymysql://a")))
