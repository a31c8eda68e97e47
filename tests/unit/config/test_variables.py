from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.config.kinds import BASE_URL, TOKEN, optional, whole_number
from gorge_worker.config.sources import Source
from gorge_worker.config.values import mask_url
from gorge_worker.config.variables import Variable, VariableSet
from gorge_worker.errors import ConfigurationError


class Example(VariableSet):
    __slots__ = ()

    most = Variable(whole_number(1, 100), "4", "Most.")
    token = Variable(TOKEN, "", "A secret.", prefix="GORGE_")
    url = Variable(optional(BASE_URL, ""), "", "A URL.")


def example(*sources: dict[str, str], **defaults: str) -> Example:
    return Example([Source(f"source {number}", values) for number, values in enumerate(sources)], defaults)


def origins(settings: Example) -> dict[str, tuple[str, str]]:
    return {one.name: (one.origin, one.spelling) for one in settings}


def test_a_variable_is_named_by_its_attribute() -> None:
    assert [one.name for one in Example.variables()] == ["MOST", "TOKEN", "URL"]
    assert [one.prefixed for one in Example.variables()] == ["GORGE_WORKER_MOST", "GORGE_TOKEN", "GORGE_WORKER_URL"]


def test_what_nobody_sets_has_its_default() -> None:
    settings = example({}, {})
    assert (settings.most, settings.token, settings.url) == (4, "", "")
    assert set(origins(settings).values()) == {("default", "MOST"), ("default", "TOKEN"), ("default", "URL")}
    assert not settings.is_set(Example.most)


def test_a_command_may_have_another_default() -> None:
    settings = example({}, MOST="7")
    assert settings.most == 7
    assert not settings.is_set(Example.most)
    assert example({"MOST": "8"}, MOST="7").most == 8


def test_both_spellings_work_and_the_prefixed_one_wins() -> None:
    assert example({"MOST": "5"}).most == 5
    assert example({"GORGE_WORKER_MOST": "6"}).most == 6
    both = example({"MOST": "5", "GORGE_WORKER_MOST": "6"})
    assert both.most == 6
    assert origins(both)["MOST"] == ("source 0", "GORGE_WORKER_MOST")


def test_a_variable_has_no_prefix_but_its_own() -> None:
    assert example({"GORGE_WORKER_TOKEN": "secret"}).token == ""
    assert example({"GORGE_TOKEN": "secret"}).token == "secret"


def test_an_empty_value_is_no_value() -> None:
    assert example({"MOST": ""}).most == 4
    assert example({"GORGE_WORKER_MOST": "", "MOST": "5"}).most == 5
    assert example({"GORGE_WORKER_MOST": "", "MOST": ""}, {"MOST": "9"}).most == 9


def test_the_first_source_wins_whatever_the_spelling() -> None:
    settings = example({"MOST": "5"}, {"GORGE_WORKER_MOST": "6"})
    assert settings.most == 5
    assert settings.is_set(Example.most)


def test_a_value_is_typed_and_cannot_be_changed() -> None:
    settings = example({"MOST": "5"})
    with pytest.raises(AttributeError):
        settings.most = 6  # type: ignore[misc]
    with pytest.raises(TypeError):
        settings.values["MOST"] = 6  # type: ignore[index]


def test_every_bad_variable_is_named_with_its_value_and_what_it_takes() -> None:
    with pytest.raises(ConfigurationError) as raised:
        example({"GORGE_WORKER_MOST": "0", "URL": "ftp://user:hunter2@h", "TOKEN": "sec\nret"})
    assert raised.value.problems == [
        "GORGE_WORKER_MOST=0 in source 0 can't be used: it takes a whole number from 1 to 100",
        f"TOKEN=*** in source 0 can't be used: it takes {TOKEN.expected}",
        f"URL=ftp://user:***@h in source 0 can't be used: it takes {BASE_URL.expected}",
    ]


@given(st.text(alphabet=st.characters(exclude_categories=()), min_size=1))
def test_a_bad_value_is_shown_on_one_line_of_bounded_length(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        example({"MOST": f"x{text * 100}"})
    (problem,) = raised.value.problems
    assert problem.isprintable()
    assert len(problem) < 3000


def test_a_bad_value_with_invisible_characters_shows_them() -> None:
    with pytest.raises(ConfigurationError, match=r"MOST='4\\r' in"):
        example({"MOST": "4\r"})
    with pytest.raises(ConfigurationError, match=r"MOST=' 4' in"):
        example({"MOST": " 4"})


def test_what_is_secret_is_known() -> None:
    settings = example({"TOKEN": "old,new", "URL": "http://user:hunter2@host"})
    assert settings.secrets == {"old,new", "old", "new", "hunter2"}
    assert [one.shown for one in settings] == ["4", "***", mask_url(settings.url)]
