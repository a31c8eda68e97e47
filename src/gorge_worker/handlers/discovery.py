"""Finds the handler functions of users: modules named in HANDLERS, and entry points of installed packages."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from gorge_worker.errors import ConfigurationError
from gorge_worker.excerpt import excerpt
from gorge_worker.handlers.marking import Marking, marking_of

ENTRY_POINT_GROUP = "gorge_worker.handlers"
VARIABLE = "HANDLERS"
MAX_CAUSE = 500
"""Characters."""


class FoundHandler(msgspec.Struct, frozen=True):
    """A handler function, and how it was marked."""

    function: Callable[..., Any]
    marking: Marking

    @property
    def name(self) -> str:
        """Where it is, for people: module and function."""
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{self.function.__module__}.{name}"


def discover(module_names: Sequence[str]) -> list[FoundHandler]:
    """The handler functions of the named modules and of all entry points, each once, in that order.

    The working directory can be imported from, after everything that is installed. Raises ConfigurationError naming
    every module that can't be imported or holds no handler.
    """
    found: dict[int, FoundHandler] = {}
    problems: list[str] = []
    if module_names:
        _make_working_directory_importable()
    for origin, load in _sources(module_names):
        try:
            for handler in load():
                found.setdefault(id(handler.function), handler)
        except _NoHandlers as trouble:
            problems.append(f"{origin}: {trouble}")
    if problems:
        raise ConfigurationError(problems)
    return list(found.values())


class _NoHandlers(Exception):
    """Why a source gave no handlers."""


def _sources(module_names: Sequence[str]) -> Iterator[tuple[str, Callable[[], list[FoundHandler]]]]:
    for name in module_names:
        yield VARIABLE, partial(_of_module, name)
    for point in entry_points(group=ENTRY_POINT_GROUP):
        package = point.dist.name if point.dist else "unknown"
        yield f"entry point {point.name!r} of the package {package}", partial(_of_entry_point, point)


def _of_module(name: str) -> list[FoundHandler]:
    module = _import(name)
    marked = [FoundHandler(value, marking) for value in vars(module).values() if (marking := marking_of(value))]
    if not marked:
        where = getattr(module, "__file__", None) or "no file"
        raise _NoHandlers(f"the module {name!r} ({where}) has no function that is marked with @task_handler")
    return marked


def _of_entry_point(point: EntryPoint) -> list[FoundHandler]:
    if not point.attr:
        return _of_module(point.module)
    value: Any = _import(point.module)
    for part in point.attr.split("."):
        value = getattr(value, part, None)
    if (marking := marking_of(value)) is None:
        raise _NoHandlers(f"{point.value} is no function that is marked with @task_handler")
    return [FoundHandler(value, marking)]


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a module may raise anything
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise _NoHandlers(
                f"there is no module {error.name!r} in {Path.cwd()} or among the installed packages"
            ) from error
        cause = excerpt("".join(traceback.format_exception_only(error)), MAX_CAUSE)
        raise _NoHandlers(
            f"the module {name!r} can't be imported: {cause}{_place(error)}; correct it, or leave it out"
        ) from error


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError):  # the cause names the place already
        return ""
    machinery = (__file__, importlib.__file__)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<") and frame.filename not in machinery
    ]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _make_working_directory_importable() -> None:
    # A console script's sys.path begins with the script's own folder. The working directory comes last: a file in it
    # that happens to be called like a module of the product's must not take that module's place.
    here = str(Path.cwd())
    if not sys.flags.safe_path and not {"", here} & set(sys.path):
        sys.path.append(here)
