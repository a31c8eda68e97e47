from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.whole_seconds import MAX_SECONDS, whole_seconds


@pytest.mark.parametrize(("value", "seconds"), [(0, 0), (77, 77), (1.0, 1), (1.2, 2), (MAX_SECONDS, MAX_SECONDS)])
def test_numbers_are_rounded_up(value: float, seconds: int) -> None:
    assert whole_seconds(value) == seconds


@pytest.mark.parametrize(
    "value", [None, True, False, "5", [], -1, -0.5, MAX_SECONDS + 1, 10**400, float("nan"), float("inf")]
)
def test_what_is_no_usable_number_is_none(value: object) -> None:
    assert whole_seconds(value) is None


@given(st.integers() | st.floats() | st.text() | st.none() | st.booleans())
def test_the_result_always_fits_into_an_epoch_column(value: object) -> None:
    seconds = whole_seconds(value)
    assert seconds is None or (type(seconds) is int and 0 <= seconds <= MAX_SECONDS)
