from __future__ import annotations

import click
import pytest

from gorge_worker.cli.options import Value
from gorge_worker.config.kinds import BASE_URL, LISTEN_ADDRESS
from gorge_worker.config.values import ListenAddress


def test_an_argument_is_read_like_a_variable() -> None:
    assert Value(LISTEN_ADDRESS, "HOST:PORT").convert(":80", None, None) == ListenAddress(None, 80)


def test_a_value_that_was_read_already_is_kept() -> None:
    address = ListenAddress("::1", 80)
    assert Value(LISTEN_ADDRESS, "HOST:PORT").convert(address, None, None) is address


def test_a_bad_argument_is_shown_without_its_secrets_and_with_what_is_taken() -> None:
    with pytest.raises(click.BadParameter, match=r"'ftp://u:\*\*\*@h' can't be used: it takes an http:// or") as raised:
        Value(BASE_URL, "URL").convert("ftp://u:hunter2@h", None, None)
    assert "hunter2" not in str(raised.value)
