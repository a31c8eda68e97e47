from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.queues.checks import storable_filter
from gorge_worker.queues.protocol import ANY, ClassFilter

NAMES = st.lists(st.sampled_from("ABCD"), max_size=4).map(tuple)
FILTERS = st.builds(ClassFilter, NAMES, NAMES)


def wanted(classes: ClassFilter) -> set[str]:
    return {name for name in "ABCDE" if classes.wants(name)}


def test_a_filter_that_says_nothing_wants_everything() -> None:
    assert wanted(ANY) == set("ABCDE")


@given(st.lists(FILTERS, min_size=1, max_size=5))
def test_a_union_wants_what_one_of_them_wants_and_perhaps_more_but_never_less(filters: list[ClassFilter]) -> None:
    union = ClassFilter.union(filters)
    each = set().union(*map(wanted, filters))
    assert each <= wanted(union)
    if each:
        assert wanted(union) == each


@given(FILTERS, st.lists(st.sampled_from(["", "\0", "\ud800", "X" * 65]), max_size=3))
def test_names_that_no_class_has_change_nothing(classes: ClassFilter, odd: list[str]) -> None:
    more = ClassFilter((*classes.only, *odd) if classes.only else (), (*classes.without, *odd))
    storable = storable_filter(more)
    assert (wanted(storable) if storable else set()) == wanted(classes)


def test_a_filter_of_nothing_but_odd_names_asks_for_nothing() -> None:
    assert storable_filter(ClassFilter(("", "\ud800"))) is None
    assert storable_filter(ClassFilter(("A",), ("A",))) is None
