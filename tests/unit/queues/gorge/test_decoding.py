from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gorge_worker.queues.gorge.decoding import read_tasks

GOOD = {"id": 1, "taskClass": "Some", "data": '{"a":"\\u00e9"}'}


def body(*entries: object) -> bytes:
    return json.dumps({"data": list(entries)}).encode()


def test_a_task_with_only_the_needed_fields_is_read() -> None:
    found = read_tasks(b'{"data":[{"id":7,"taskClass":"Some","surprise":[1,{"x":null}]}]}')
    [task] = found.tasks
    assert (task.id, task.task_class, task.data, task.failure_count, found.shown) == (7, "Some", "", 0, 1)


@pytest.mark.parametrize("name", ["data", "priority", "leaseOwner", "leaseExpires", "failureCount", "objectPHID"])
def test_null_in_an_optional_field_counts_as_absent(name: str) -> None:
    found = read_tasks(body(GOOD | {name: None}))
    assert found.tasks == read_tasks(body({key: value for key, value in GOOD.items() if key != name})).tasks


@pytest.mark.parametrize("number", [2**53, 2**64, 10**300])
def test_big_integers_are_kept(number: int) -> None:
    [task] = read_tasks(body(GOOD | {"priority": number})).tasks
    assert task.priority == number


BROKEN = {
    "lone surrogate": ({"data": "\ud800"}, "data is not valid Unicode"),
    "surrogate in class": ({"taskClass": "\udfff"}, "taskClass is not valid Unicode"),
    "data is an object": ({"data": {"a": 1}}, "$.data"),
    "data is a number": ({"data": 1}, "$.data"),
    "class is a number": ({"taskClass": 5}, "$.taskClass"),
    "class is null": ({"taskClass": None}, "taskClass"),
    "class is empty": ({"taskClass": ""}, "class is empty"),
    "priority is text": ({"priority": "high"}, "$.priority"),
    "priority is a surrogate": ({"priority": "\ud800"}, "surrogates not allowed"),
    "priority is a bool": ({"priority": True}, "$.priority"),
    "expiry is a float": ({"leaseExpires": 1.5}, "$.leaseExpires"),
}


@pytest.mark.parametrize(("change", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_task_harms_no_neighbour(change: dict[str, object], reason: str) -> None:
    found = read_tasks(body(GOOD, GOOD | {"id": 2} | change, GOOD | {"id": 3}))
    assert [task.id for task in found.tasks] == [1, 3]
    [broken] = found.broken
    assert broken.task.id == 2
    assert reason in broken.reason
    assert found.shown == 3
    broken.task.task_class.encode()


def test_stray_bytes_spoil_only_their_task() -> None:
    found = read_tasks(b'{"data":[{"id":1,"taskClass":"Some"},{"id":2,"taskClass":"Some","data":"\xff"}]}')
    assert [task.id for task in found.tasks] == [1]
    assert [broken.task.id for broken in found.broken] == [2]


def test_an_integer_beyond_reading_spoils_only_its_task() -> None:
    found = read_tasks(b'{"data":[{"id":1,"taskClass":"S"},{"id":2,"taskClass":"S","priority":' + b"9" * 5000 + b"}]}")
    assert [task.id for task in found.tasks] == [1]
    assert [broken.task.id for broken in found.broken] == [2]


@pytest.mark.parametrize("entry", [None, 7, "x", [], {}, *({"id": bad} for bad in (0, -1, True, "1", 1.0, None))])
def test_what_has_no_usable_id_is_skipped_and_counted(entry: object) -> None:
    entry = {"taskClass": "Some"} | entry if isinstance(entry, dict) else entry
    found = read_tasks(body(entry, GOOD))
    assert [task.id for task in found.tasks] == [1]
    assert not found.broken
    assert (found.nameless, found.shown) == (1, 2)


@pytest.mark.parametrize("more", [{}, {"data": None}, {"data": 5}])
def test_a_task_that_comes_twice_counts_once(more: dict[str, object]) -> None:
    found = read_tasks(body(GOOD | more, GOOD | {"id": 2}, GOOD | more))
    assert sorted(task.id for task in found.tasks) + [one.task.id for one in found.broken] in ([1, 2], [2, 1])
    assert found.shown == 3


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"[]",
        b"{}",
        b'{"data":{"id":1}}',
        b'{"data":"tasks"}',
        b'{"data":[{"id":1,',
        b"\x00\xff",
        b"<html></html>",
        b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_list_of_tasks_is_refused(bad: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the parser's
        read_tasks(bad)


@pytest.mark.parametrize("empty", [b'{"data":[]}', b'{"data":null}', b'{"data": [] , "more": "\\ud800"}'])
def test_an_empty_answer_is_empty(empty: bytes) -> None:
    assert read_tasks(empty).shown == 0


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, st.booleans())
def test_data_is_kept_to_the_last_character(text: str, beside_a_broken_task: bool) -> None:  # noqa: FBT001 - drawn
    entries = [GOOD | {"data": text}] + [{"id": 2, "data": 5}] * beside_a_broken_task
    [task] = read_tasks(body(*entries)).tasks
    assert task.data == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.lists(st.dictionaries(st.sampled_from(["id", "taskClass", "data", "priority", "leaseExpires"]), JSON)))
def test_any_tasks_are_judged_without_an_error(entries: list[dict[str, object]]) -> None:
    found = read_tasks(body(*entries, {"id": 10**9, "taskClass": "Good"}))
    assert found.shown == len(entries) + 1
    assert 10**9 in [task.id for task in found.tasks] + [broken.task.id for broken in found.broken]
    for task in found.tasks:
        assert task.id > 0
        (task.task_class + task.data).encode()
