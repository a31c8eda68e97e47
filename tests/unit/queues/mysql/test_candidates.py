"""The ranges that leave out what was seen: exactly that, and in the order of the key."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.queues.mysql.candidates import _beyond, class_condition
from gorge_worker.queues.protocol import ANY, ClassFilter

PRIORITIES, IDS = st.integers(0, 9), st.integers(0, 9)


def holds(text: str, values: tuple[object, ...], **columns: object) -> bool:
    """Whether a row meets a condition, worked out as the database would."""
    expression = text.replace(" AND ", " and ").replace(" OR ", " or ").replace(" = %s", " == %s")
    return bool(eval(expression % values, {}, columns))  # noqa: S307 (the product's own text)


@given(passed=st.dictionaries(PRIORITIES, IDS), priority=PRIORITIES, task_id=IDS)
def test_a_row_is_left_out_when_it_was_passed_over(passed: dict[int, int], priority: int, task_id: int) -> None:
    condition = _beyond(passed)
    expected = priority not in passed or task_id > passed[priority]
    text = condition.text.removeprefix(" AND ")
    assert (not text or holds(text, condition.values, priority=priority, id=task_id)) == expected


def test_classes_become_a_condition_without_any_value_in_its_text() -> None:
    assert class_condition(ANY) == ("TRUE", ())
    assert class_condition(ClassFilter(only=("A", "B'"))) == ("taskClass IN (%s, %s)", ("A", "B'"))
    assert class_condition(ClassFilter(without=("A",))) == ("taskClass NOT IN (%s)", ("A",))
