from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest import mock

import pytest

from gorge_worker.handlers.context import TaskContext
from gorge_worker.handlers.marking import Marking, marking_of, task_handler


def plain(context: TaskContext) -> None:
    raise AssertionError(context)


def test_the_function_is_left_as_it_is() -> None:
    def function(context: TaskContext) -> None:
        plain(context)

    marked = task_handler("A", "B", timeout=5, retry_wait=60, max_failures=3)(function)
    assert marked is function
    assert marking_of(marked) == Marking(task_classes=("A", "B"), timeout=5, retry_wait=60, max_failures=3)


@pytest.mark.parametrize("value", [plain, None, 5, Marking, mock.call, mock.Mock()])
def test_what_is_not_marked_is_not_taken_for_marked(value: Any) -> None:
    assert marking_of(value) is None


def test_the_decorator_names_its_classes() -> None:
    with pytest.raises(TypeError, match=r'@task_handler\("ClassName"\)'):
        task_handler(plain)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        task_handler()
    with pytest.raises(TypeError):
        task_handler("")


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": -1}, {"retry_wait": -1}, {"max_failures": -1}], ids=str
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        task_handler("A", **options)


def test_a_function_is_marked_once() -> None:
    def function(context: TaskContext) -> None:
        plain(context)

    with pytest.raises(TypeError, match="already"):
        task_handler("A")(task_handler("B")(function))


def test_a_generator_is_no_handler() -> None:
    def generator(_: TaskContext) -> Iterator[None]:
        yield

    async def async_generator(_: TaskContext) -> AsyncIterator[None]:
        yield

    for function in (generator, async_generator):
        with pytest.raises(TypeError, match="generator"):
            task_handler("A")(function)  # type: ignore[type-var]
