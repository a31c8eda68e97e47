from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.excerpt import excerpt


@given(st.binary(max_size=400) | st.text(max_size=400), st.integers(min_value=1, max_value=60))
def test_any_text_becomes_one_printable_line_of_bounded_length(body: bytes | str, most: int) -> None:
    line = excerpt(body, most)
    assert len(line) <= most
    assert line.isprintable()
    assert line == line.strip()


def test_lines_and_runs_of_white_space_are_folded() -> None:
    assert excerpt(b"<h1>Fatal\r\n\n  error</h1>\t") == "<h1>Fatal error</h1>"


@pytest.mark.parametrize("char", ["\x1b", "\x00", "\x7f", "\u202e", "\u2028", "\ud800", "\ufeff"])
def test_what_could_disturb_a_terminal_or_a_log_is_taken_out(char: str) -> None:
    assert excerpt(f"a{char}b") == "a b"


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert excerpt("naïve 峡谷".encode(), most=8) == "naïve 峡谷"


def test_a_longer_text_ends_with_an_ellipsis() -> None:
    assert excerpt(b"abcdef", most=5) == "abcd…"


def test_a_huge_blank_start_still_shows_that_something_was_left_out() -> None:
    assert excerpt(b" " * 5_000_000 + b"x") == "…"


@pytest.mark.parametrize("body", [b"", "", b" \r\n"])
def test_a_blank_text_gives_nothing(body: bytes | str) -> None:
    assert excerpt(body) == ""


def test_bytes_that_are_not_utf8_are_shown_as_replaced() -> None:
    assert excerpt(b"caf\xe9!") == "caf\ufffd!"


@pytest.mark.parametrize("kind", [str, str.encode])
def test_a_secret_is_masked_even_where_the_excerpt_would_cut_it(kind: type) -> None:
    body = kind("x" * 10 + "api-secret" + "y" * 100)
    for most in range(8, 60):
        assert "api" not in excerpt(body, most, hide="api-secret")


def test_a_secret_that_is_not_utf8_is_masked() -> None:
    assert excerpt(b"a\xff\xfeb", hide="\udcff\udcfe") == "a***b"
