from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.config import kinds
from gorge_worker.config.kinds import CLASS_NAMES, HTTP_URLS, MODULE_NAMES, TOKEN, Kind, choice, optional, whole_number
from gorge_worker.config.settings import Settings

SMALL = whole_number(1, 10)


def parsed(kind: Kind[Any], text: str) -> Any:
    """The value, or the class of what was raised."""
    try:
        return kind.parse(text)
    except ValueError:
        return ValueError


@given(st.integers(min_value=1, max_value=10))
def test_a_whole_number_within_the_bounds_is_read(number: int) -> None:
    assert parsed(SMALL, str(number)) == number


@given(st.one_of(st.integers(max_value=0), st.integers(min_value=11)))
def test_a_number_beyond_the_bounds_is_refused(number: int) -> None:
    assert parsed(SMALL, str(number)) is ValueError


@pytest.mark.parametrize(
    "text", ["", "four", "1.5", "1e0", "+1", " 1", "1 ", "1_0", "0x1", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 5000]
)
def test_what_is_no_plain_number_is_refused(text: str) -> None:
    assert parsed(SMALL, text) is ValueError


def test_a_kind_says_what_it_takes() -> None:
    assert SMALL.expected == "a whole number from 1 to 10"
    assert choice("a", "b").expected == "a or b"
    assert choice("a", "b", "c").expected == "a, b or c"


def test_a_choice_is_read_in_any_case() -> None:
    assert parsed(choice("form", "json"), "JSON") == "json"
    assert parsed(choice("form", "json"), "xml") is ValueError


def test_an_optional_value_may_be_empty() -> None:
    assert optional(SMALL, None).parse("") is None
    assert optional(SMALL, None).parse("3") == 3
    assert parsed(optional(SMALL, None), "30") is ValueError
    assert optional(kinds.BASE_URL, "").show("http://u:secret@h") == "http://u:***@h"


@pytest.mark.parametrize("text", ["phorge", "./phorge", "/srv/ph\norge", "~/phorge"])
def test_a_folder_is_named_by_an_absolute_path(text: str) -> None:
    assert parsed(kinds.FOLDER, text) is ValueError
    assert parsed(kinds.FOLDER, "/srv/our phorge") == Path("/srv/our phorge")


@pytest.mark.parametrize("text", ["./php", "bin/php", "-r", "php\n"])
def test_a_command_is_a_name_or_an_absolute_path(text: str) -> None:
    assert parsed(kinds.COMMAND_NAME, text) is ValueError
    assert [parsed(kinds.COMMAND_NAME, one) for one in ("php8.2", "/usr/bin/php")] == ["php8.2", "/usr/bin/php"]


@pytest.mark.parametrize("text", ["", "-root", "a b", "a:b", "a/b", "a\n"])
def test_a_user_is_named_as_the_system_names_users(text: str) -> None:
    assert parsed(kinds.USER_NAME, text) is ValueError
    assert parsed(kinds.USER_NAME, "www-data") == "www-data"


def test_lists_ignore_spaces_empty_items_and_repetitions() -> None:
    assert CLASS_NAMES.parse(" A , B,,A ,") == ("A", "B")
    assert CLASS_NAMES.parse("") == ()
    assert CLASS_NAMES.parse(",") == ()


@pytest.mark.parametrize("text", ["A B", "A;B, C D", "A" * 65, "\N{SNOWMAN}" * 22, "A\x7f", "\udc80"])
def test_what_no_task_class_can_be_is_refused(text: str) -> None:
    assert parsed(CLASS_NAMES, text) is ValueError


def test_every_class_of_phorges_is_taken() -> None:
    assert CLASS_NAMES.parse("*,PhabricatorMetaMTAWorker") == ("*", "PhabricatorMetaMTAWorker")
    assert CLASS_NAMES.parse("A" * 64) == ("A" * 64,)


def test_modules_are_dotted_names() -> None:
    assert MODULE_NAMES.parse("handlers, our.mail_handlers") == ("handlers", "our.mail_handlers")
    for text in ("our-handlers", "our/handlers.py", "a..b", ".a", "a b"):
        assert parsed(MODULE_NAMES, text) is ValueError


def test_hooks_are_urls_shown_without_their_secrets() -> None:
    text = "https://a.example/hook?key=secret, http://u:secret@b.example/"
    assert HTTP_URLS.parse(text) == ("https://a.example/hook?key=secret", "http://u:secret@b.example/")
    assert HTTP_URLS.show(text) == "https://a.example/hook?***,http://u:***@b.example/"
    assert HTTP_URLS.secrets(text) == ["secret"]
    assert parsed(HTTP_URLS, "https://a.example/,b.example") is ValueError


def test_a_token_is_any_text_that_a_header_can_carry() -> None:
    for text in ("a b,c", "\N{SNOWMAN}", "\udcff", ""):
        assert TOKEN.parse(text) == text
    for text in ("a\n", "a\rb", "\0", "a\x7f"):
        assert parsed(TOKEN, text) is ValueError


def test_a_token_is_shown_as_nothing_but_its_presence() -> None:
    assert TOKEN.show("secret") == "***"
    assert TOKEN.show("") == ""
    assert TOKEN.secrets("old, new,") == ["old, new,", "old", "new"]
    assert TOKEN.secrets("") == []


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=100))
def test_no_text_breaks_a_kind(text: str) -> None:
    for variable in Settings.variables():
        value = parsed(variable.kind, text)
        assert value is ValueError or json.dumps(variable.kind.show(text))
        assert all(variable.kind.secrets(text))
