from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from multidict import CIMultiDict

from gorge_worker.retry_after import retry_after

NOON = 1_785_585_600.0  # Sat, 01 Aug 2026 12:00:00 GMT


def wait(value: str) -> float | None:
    return retry_after({"Retry-After": value}, NOON)


@pytest.mark.parametrize(("value", "seconds"), [("0", 0), ("7", 7), (" 59 ", 59), ("60", 60), ("61", 60)])
def test_seconds_count_for_at_most_a_minute(value: str, seconds: float) -> None:
    assert wait(value) == seconds


def test_a_number_that_python_would_refuse_to_read_counts_as_a_minute() -> None:
    assert wait("9" * 5000) == 60


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Sat, 01 Aug 2026 12:00:30 GMT", 30),
        ("Saturday, 01-Aug-26 12:00:30 GMT", 30),
        ("Sat Aug  1 12:00:30 2026", 30),
        ("Sat, 01 Aug 2026 14:00:30 +0200", 30),
        ("Sat, 01 Aug 2026 13:00:00 GMT", 60),
        ("Sat, 01 Aug 2026 11:00:00 GMT", 0),
    ],
)
def test_a_date_is_compared_with_the_clock(value: str, seconds: float) -> None:
    assert wait(value) == seconds


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5", "1e3", "inf", "²", "٣", "Sat, 99 Aug 2026 12:00:30 GMT"])
def test_what_cannot_be_read_counts_as_absent(value: str) -> None:
    assert wait(value) is None


def test_without_the_header_there_is_nothing_to_wait_for() -> None:
    assert retry_after({}, NOON) is None


def test_the_name_is_found_in_any_case() -> None:
    assert retry_after(CIMultiDict({"retry-after": "7"}), NOON) == 7


DATE_WORDS = ["Sat,", "Sat", "01", "Aug", "2026", "12:00:30", "12.00", "GMT", "-0000", "+9999", ":", ",", "-", "99999"]


@given(st.text(max_size=40) | st.lists(st.sampled_from(DATE_WORDS), max_size=8).map(" ".join))
@example("Fri, 31 Dec 9999 23:59:59 -2359")
@example("Mon, 01 Jan 0001 00:00:00 +2359")
def test_any_header_gives_a_usable_wait_or_none(value: str) -> None:
    seconds = wait(value)
    assert seconds is None or 0 <= seconds <= 60
