from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.masking import MASK, SHORTEST_SECRET, Masking

SECRETS = st.text(min_size=SHORTEST_SECRET, max_size=40)


@given(st.lists(SECRETS, min_size=1, max_size=4), st.text(max_size=30), st.data())
def test_no_secret_is_left_in_a_text(secrets: list[str], around: str, data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from(secrets))
    hidden = Masking(secrets).hide(f"{around}{secret}{around}")
    assert MASK in hidden
    assert secret not in hidden or secret in MASK or secret in around + MASK + around


@pytest.mark.parametrize("secret", ['pass"word', "p&ss=w rd", "naïve-päss", "back\\slash\\"])
def test_a_secret_is_found_in_its_quoted_forms_too(secret: str) -> None:
    hide = Masking([secret]).hide
    for spelling in (quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1]):
        assert hide(f"x{spelling}y") == f"x{MASK}y"


def test_of_two_secrets_the_longer_one_is_masked_whole() -> None:
    assert Masking(["token", "token-of-mine"]).hide("token-of-mine") == MASK


def test_without_secrets_and_for_tiny_ones_a_text_is_left_alone() -> None:
    assert Masking([]).hide("text") == "text"
    assert Masking(["e", ""]).hide("text") == "text"
