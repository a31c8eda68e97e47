from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.foreign_json import decode_json


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=9))
def test_any_json_value_is_decoded(value: object) -> None:
    assert decode_json(json.dumps(value)) == value
    assert decode_json(json.dumps(value).encode()) == value


def test_lone_surrogates_are_let_through() -> None:
    assert decode_json(r'"\ud800"') == "\ud800"


@pytest.mark.parametrize(
    "text", ["", "not json", '{"a":', "NaN", "-Infinity", b"\xff\xff", "[" * 100_000, "9" * 5000, "5 6"]
)
def test_what_is_not_json_is_a_value_error_that_says_why(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(text)
