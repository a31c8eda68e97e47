from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.leases import FixedClock

from gorge_worker.errors import ConfigurationError
from gorge_worker.handlers.feed_http import FEED_CLASS, FeedHttpHandler
from gorge_worker.handlers.noop import NoopHandler
from gorge_worker.handlers.python import AsyncHandler
from gorge_worker.handlers.setup import DELEGATED_CLASSES, HandlerChoice, build_handlers
from gorge_worker.handlers.threaded import ThreadHandler
from gorge_worker.model import Lease, Outcome, Task
from gorge_worker.registry import Registry

SEARCH = "PhabricatorSearchWorker"
MODULE = f"""
from gorge_worker import task_handler

@task_handler({SEARCH!r}, timeout=7)
def search(context): ...

@task_handler("MineWorker", "OtherWorker")
async def mine(context): ...
"""


class Php:
    backend = "conduit"
    timeout = None
    stops_when_cancelled = False
    waiting = 0

    def retry_wait(self, task: Task) -> int | None:
        raise AssertionError(task)

    async def execute(self, lease: Lease) -> Outcome:
        raise AssertionError(lease)


PHP = Php()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "my_handlers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_handlers"
    sys.modules.pop("my_handlers", None)


def build(**choice: Any) -> Registry:
    with ThreadPoolExecutor(1) as executor:
        return build_handlers(HandlerChoice(**choice), executor=executor, clock=FixedClock()).registry


def problems(**choice: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        build(**choice)
    return raised.value.problems


def test_without_php_feed_stories_are_delivered_here() -> None:
    registry = build()
    assert registry.supported == [FEED_CLASS]
    assert isinstance(registry.find(FEED_CLASS), FeedHttpHandler)


def test_with_php_the_five_classes_are_delegated_in_their_order() -> None:
    registry = build(php=PHP)
    assert registry.supported == [
        "FeedPublisherHTTPWorker",
        "PhabricatorSearchWorker",
        "PhabricatorMetaMTAWorker",
        "PhabricatorApplicationTransactionPublishWorker",
        "HeraldWebhookWorker",
    ]
    assert all(registry.find(name) is PHP for name in registry.supported)


@pytest.mark.parametrize("classes", [["*"], ["AWorker", SEARCH]])
def test_what_is_delegated_can_be_chosen(classes: list[str]) -> None:
    registry = build(php=PHP, delegate_classes=classes)
    assert registry.supported == classes
    assert registry.find(classes[0]) is PHP


def test_native_delivery_can_be_chosen_beside_php_which_does_the_rest() -> None:
    registry = build(php=PHP, native_classes=[FEED_CLASS])
    assert registry.supported == list(DELEGATED_CLASSES)
    feed = registry.find(FEED_CLASS)
    assert isinstance(feed, FeedHttpHandler)
    assert feed.backend is None
    assert not feed.stops_when_cancelled, "PHP may be executing"


def test_native_delivery_goes_with_everything_else_delegated() -> None:
    registry = build(php=PHP, delegate_classes=["*"], native_classes=[FEED_CLASS])
    assert registry.supported == [FEED_CLASS, "*"]
    assert isinstance(registry.find(FEED_CLASS), FeedHttpHandler)


def test_classes_can_be_acknowledged_only() -> None:
    registry = build(php=PHP, noop_classes=[SEARCH, "AWorker", "AWorker"])
    assert isinstance(registry.find(SEARCH), NoopHandler)
    assert isinstance(registry.find("AWorker"), NoopHandler)
    assert registry.supported == [*DELEGATED_CLASSES, "AWorker"]


def test_python_handlers_take_their_classes_from_php(module: str) -> None:
    registry = build(php=PHP, modules=[module])
    search, mine = registry.find(SEARCH), registry.find("MineWorker")
    assert isinstance(search, ThreadHandler)
    assert (search.timeout, search.backend, search.stops_when_cancelled) == (7, None, False)
    assert isinstance(mine, AsyncHandler)
    assert mine is registry.find("OtherWorker")
    assert registry.supported == [*DELEGATED_CLASSES, "MineWorker", "OtherWorker"]


def test_two_handlers_that_are_chosen_for_one_class_are_named(module: str) -> None:
    [told] = problems(noop_classes=[SEARCH], modules=[module])
    assert told.startswith(f"{SEARCH}: two handlers")
    assert "NOOP_CLASSES" in told
    assert "my_handlers.search" in told


def test_what_cannot_be_native_is_named() -> None:
    [told] = problems(native_classes=[SEARCH])
    assert "NATIVE_CLASSES" in told
    assert SEARCH in told
    assert FEED_CLASS in told


def test_every_task_cannot_be_acknowledged() -> None:
    [told] = problems(noop_classes=["*"])
    assert "NOOP_CLASSES" in told


def test_classes_cannot_be_delegated_to_nobody() -> None:
    [told] = problems(delegate_classes=["AWorker"])
    assert "DELEGATE_CLASSES: AWorker" in told
    assert "CONDUIT_URL" in told


def test_a_filter_limits_what_is_processed() -> None:
    registry = build(php=PHP, class_filter=[SEARCH])
    assert registry.find(FEED_CLASS) is None
    assert registry.find(SEARCH) is PHP


def test_a_filter_naming_what_nothing_handles_is_named_with_what_there_is() -> None:
    [told] = problems(php=PHP, class_filter=[SEARCH, "NoSuchWorker", "Nor This"])
    assert told.startswith("TASK_CLASS_FILTER: nothing handles NoSuchWorker, Nor This;")
    assert "HeraldWebhookWorker" in told


def test_every_problem_is_named_at_once() -> None:
    told = problems(native_classes=["AWorker"], noop_classes=["*"], class_filter=["BWorker"])
    assert [one.split(":")[0] for one in told] == ["NATIVE_CLASSES", "NOOP_CLASSES", "TASK_CLASS_FILTER"]


def test_a_missing_module_is_not_blamed_on_the_filter() -> None:
    [told] = problems(modules=["no_such_module"], class_filter=["MineWorker"])
    assert told.startswith("HANDLERS")
