from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.web.tokens import Tokens

# What an environment variable can hold: bytes without NUL, read with surrogateescape.
ENVIRONMENT = st.binary(max_size=20).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))


def test_no_token_means_no_auth() -> None:
    assert not Tokens("")
    assert Tokens("a")


@pytest.mark.parametrize("offered", ["old", "new", "old, new", " old"[1:]])
def test_every_token_of_a_rotation_is_accepted_and_so_is_the_whole_value(offered: str) -> None:
    assert Tokens("old, new").accept(offered)


@pytest.mark.parametrize("offered", ["", " ", "ol", "older", "old,new", ",", "OLD"])
def test_nothing_else_is_accepted(offered: str) -> None:
    assert not Tokens("old, new,, ").accept(offered)


@pytest.mark.parametrize("configured", [",", " ", " , "])
def test_a_value_of_nothing_but_separators_keeps_everybody_out(configured: str) -> None:
    tokens = Tokens(configured)
    assert tokens
    assert not tokens.accept("")


@given(configured=ENVIRONMENT, offered=ENVIRONMENT)
def test_a_token_is_accepted_when_it_is_an_item_or_the_whole(configured: str, offered: str) -> None:
    items = {item.strip() for item in configured.split(",")} | {configured}
    assert Tokens(configured).accept(offered) == (offered != "" and offered in items)


@given(configured=ENVIRONMENT)
def test_every_item_opens_the_door(configured: str) -> None:
    tokens = Tokens(configured)
    assert all(tokens.accept(item.strip()) for item in configured.split(",") if item.strip())
