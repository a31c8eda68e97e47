"""Decides which handler executes which task class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import Executor

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.errors import ConfigurationError
from gorge_worker.handlers.discovery import FoundHandler, discover
from gorge_worker.handlers.feed_http import FEED_CLASS, FeedHttpHandler
from gorge_worker.handlers.noop import NoopHandler
from gorge_worker.handlers.python import AsyncHandler, is_async
from gorge_worker.handlers.threaded import ThreadHandler
from gorge_worker.registry import ANY_CLASS, Handler, Registry

DELEGATED_CLASSES = (
    FEED_CLASS,
    "PhabricatorSearchWorker",
    "PhabricatorMetaMTAWorker",
    "PhabricatorApplicationTransactionPublishWorker",
    "HeraldWebhookWorker",
)
"""What Conduit executes unless DELEGATE_CLASSES says otherwise, in the order of the first Gorge release."""


class HandlerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator has chosen; empty collections where nothing was.

    `php` executes what is delegated, None when there is no PHP: `delegate_classes`, or `php_classes` without any.
    """

    php: Handler | None = None
    php_classes: Sequence[str] = DELEGATED_CLASSES
    delegate_classes: Sequence[str] = ()
    native_classes: Sequence[str] = ()
    noop_classes: Sequence[str] = ()
    modules: Sequence[str] = ()
    feed_hooks: Collection[str] = ()
    class_filter: Sequence[str] = ()


class Handlers(msgspec.Struct, frozen=True):
    """All handlers of a worker. `close` when nothing is executed any more."""

    registry: Registry
    feed: FeedHttpHandler

    async def close(self) -> None:
        await self.feed.close()


def build_handlers(choice: HandlerChoice, *, executor: Executor, clock: Clock) -> Handlers:
    """Makes the registry.

    What is chosen by name comes before what is a default: a native, no-op or Python handler takes its class from the
    classes that are delegated by default. `executor` runs the Python handlers that block.

    Raises ConfigurationError naming every choice that can't be used, also that two handlers are chosen for one class.
    """
    return _Setup(choice, executor, clock).build()


class _Setup:
    def __init__(self, choice: HandlerChoice, executor: Executor, clock: Clock) -> None:
        self._choice = choice
        self._executor = executor
        self._clock = clock
        self._feed = FeedHttpHandler(hooks=choice.feed_hooks, fallback=choice.php)
        self._handlers: dict[str, Handler] = {}
        self._chosen_by: dict[str, str] = {}
        self._problems: list[str] = []
        self._complete = True

    def build(self) -> Handlers:
        self._add_defaults()
        self._add_delegated()
        self._add_native()
        self._add_noop()
        self._add_python()
        registry = Registry()
        for task_class, handler in self._handlers.items():
            registry.register(task_class, handler)
        self._restrict(registry)
        if self._problems:
            raise ConfigurationError(self._problems)
        return Handlers(registry, self._feed)

    def _add_defaults(self) -> None:
        php = self._choice.php
        if php is None:
            self._handlers[FEED_CLASS] = self._feed
        elif not self._choice.delegate_classes:
            self._handlers.update(dict.fromkeys(self._choice.php_classes, php))

    def _add_delegated(self) -> None:
        if not (classes := self._choice.delegate_classes):
            return
        if self._choice.php is None:
            self._problems.append(
                f"DELEGATE_CLASSES: {', '.join(classes)} can't be delegated, there is no PHP:"
                " set PHORGE_ROOT or CONDUIT_URL"
            )
            return
        for task_class in classes:
            self._choose(task_class, self._choice.php, "DELEGATE_CLASSES")

    def _add_native(self) -> None:
        for task_class in self._choice.native_classes:
            if task_class == FEED_CLASS:
                self._choose(task_class, self._feed, "NATIVE_CLASSES")
            else:
                self._problems.append(
                    f"NATIVE_CLASSES: {task_class!r} can't be executed natively, only {FEED_CLASS} can"
                )

    def _add_noop(self) -> None:
        noop = NoopHandler()
        for task_class in self._choice.noop_classes:
            if task_class == ANY_CLASS:
                self._problems.append(
                    "NOOP_CLASSES: '*' would discard every task that has no handler: name the classes"
                )
            else:
                self._choose(task_class, noop, "NOOP_CLASSES")

    def _add_python(self) -> None:
        try:
            found = discover(self._choice.modules)
        except ConfigurationError as error:
            self._problems += error.problems
            self._complete = False
            return
        for one in found:
            handler = self._python_handler(one)
            for task_class in one.marking.task_classes:
                self._choose(task_class, handler, f"the handler function {one.name}")

    def _python_handler(self, found: FoundHandler) -> Handler:
        if is_async(found.function):
            return AsyncHandler(found.function, found.marking, self._clock)
        return ThreadHandler(found.function, found.marking, self._clock, self._executor)

    def _choose(self, task_class: str, handler: Handler, by: str) -> None:
        earlier = self._chosen_by.setdefault(task_class, by)
        if earlier != by:
            self._problems.append(
                f"{task_class}: two handlers are chosen, by {earlier} and by {by}: take one of them out"
            )
        self._handlers[task_class] = handler

    def _restrict(self, registry: Registry) -> None:
        # While modules are missing, nobody can say what nothing handles.
        if not self._choice.class_filter or not self._complete:
            return
        try:
            registry.restrict(self._choice.class_filter)
        except ValueError as unknown:
            self._problems.append(
                f"TASK_CLASS_FILTER: nothing handles {unknown}; supported: {', '.join(registry.supported)}"
            )
