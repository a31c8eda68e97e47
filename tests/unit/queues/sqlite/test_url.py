from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.errors import ConfigurationError
from gorge_worker.queues.sqlite.url import sqlite_path


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///queue.db", "queue.db"),
        ("sqlite:///data/queue.db", "data/queue.db"),
        ("sqlite:////var/lib/queue.db", "/var/lib/queue.db"),
        ("SQLite:////var/lib/queue.db", "/var/lib/queue.db"),
        ("sqlite:////tmp/a%20b%3Fc%23.db", "/tmp/a b?c#.db"),
        ("sqlite:////tmp/%E5%B3%A1.db", "/tmp/峡.db"),
        ("sqlite:////tmp/峡谷.db", "/tmp/峡谷.db"),
    ],
)
def test_a_url_names_a_path(url: str, path: str) -> None:
    assert sqlite_path(url) == Path(path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "queue.db",
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite:////",
        "sqlite:///:memory:",
        "sqlite:///queue.db?mode=ro",
        "sqlite:///queue.db#x",
        "sqlite:///a%00b",
        "mysql://host/name",
    ],
)
def test_what_names_no_file_is_refused_with_the_form_that_is_expected(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"sqlite:///|%3F"):
        sqlite_path(url)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        sqlite_path("sqlite://me:hunter2@host/queue.db")
    assert "hunter2" not in str(caught.value)


@given(st.text())
def test_any_text_is_a_path_or_a_configuration_error(text: str) -> None:
    try:
        path = sqlite_path(f"sqlite:///{text}")
    except ConfigurationError:
        return
    assert isinstance(path, Path)
