from __future__ import annotations

import pytest
from support.memory_queue import FakeHandler

from gorge_worker.registry import ANY_CLASS, Registry

A, B, REST = FakeHandler(), FakeHandler(), FakeHandler()


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.register("B", B)
    made.register("A", A)
    return made


def test_a_class_is_executed_by_its_own_handler(registry: Registry) -> None:
    assert registry.find("A") is A
    assert registry.find("C") is None


def test_a_fallback_executes_what_has_no_handler_of_its_own(registry: Registry) -> None:
    registry.register(ANY_CLASS, REST)
    assert registry.find("A") is A
    assert registry.find("C") is REST


def test_a_class_has_one_handler(registry: Registry) -> None:
    with pytest.raises(ValueError, match="'A'"):
        registry.register("A", B)


def test_supported_is_in_the_order_of_registration_with_the_fallback_last() -> None:
    registry = Registry()
    for name in ("B", ANY_CLASS, "A"):
        registry.register(name, REST)
    assert registry.supported == ["B", "A", ANY_CLASS]


def test_a_filter_leaves_out_all_other_classes(registry: Registry) -> None:
    registry.restrict(["A"])
    assert registry.find("A") is A
    assert registry.find("B") is None
    assert registry.leasable == {"A": A}
    assert registry.supported == ["B", "A"], "what is supported is not what is wanted"


def test_a_filter_can_name_classes_that_only_the_fallback_executes(registry: Registry) -> None:
    registry.register(ANY_CLASS, REST)
    registry.restrict(["C", "A"])
    assert registry.find("C") is REST
    assert registry.leasable == {"A": A, "C": REST}


def test_a_filter_naming_what_nothing_executes_is_refused(registry: Registry) -> None:
    with pytest.raises(ValueError, match="C, D"):
        registry.restrict(["A", "C", "D"])


def test_without_a_filter_everything_registered_is_leased(registry: Registry) -> None:
    registry.register(ANY_CLASS, REST)
    assert registry.leasable == {"B": B, "A": A, ANY_CLASS: REST}
