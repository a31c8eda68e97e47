"""How variables are declared, read and shown. Which ones there are is in `settings`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar, overload

import msgspec

from gorge_worker.config.kinds import Kind
from gorge_worker.config.sources import Source
from gorge_worker.errors import ConfigurationError

T = TypeVar("T")

DEFAULT = "default"
LONGEST_SHOWN = 200
"""Characters of a bad value that a message repeats."""


class Variable(Generic[T]):
    """One variable, declared as an attribute of a VariableSet; on an instance of it, the variable's value.

    `default` is written as a user would write it. `meaning` says, with the unit, what it is for. `prefix` makes the
    spelling that the later Gorge releases use.
    """

    name: str

    def __init__(self, kind: Kind[T], default: str, meaning: str, *, prefix: str = "GORGE_WORKER_") -> None:
        self.kind = kind
        self.default = default
        self.meaning = meaning
        self._prefix = prefix

    def __set_name__(self, owner: type[VariableSet], attribute: str) -> None:
        self.name = attribute.upper()

    @property
    def prefixed(self) -> str:
        """The later releases' spelling, which wins over the seed's."""
        return self._prefix + self.name

    @overload
    def __get__(self, settings: None, owner: type[VariableSet]) -> Self: ...

    @overload
    def __get__(self, settings: VariableSet, owner: type[VariableSet]) -> T: ...

    def __get__(self, settings: VariableSet | None, owner: type[VariableSet]) -> Self | T:
        if settings is None:
            return self
        value: T = settings.values[self.name]
        return value


class Assignment(msgspec.Struct, frozen=True):
    """A variable's text, the spelling that it was set by and the name of the source, DEFAULT for none."""

    name: str
    kind: Kind[Any]
    text: str
    spelling: str
    origin: str

    @property
    def shown(self) -> str:
        """The text without its secrets."""
        return self.kind.show(self.text)

    def problem(self, error: ValueError) -> str:
        """What to tell the user when the kind has raised `error` for the text."""
        shown = self.shown if len(self.shown) <= LONGEST_SHOWN else f"{self.shown[:LONGEST_SHOWN]}..."
        quoted = shown if shown.isprintable() and " " not in shown else repr(shown)
        return f"{self.spelling}={quoted} in {self.origin} can't be used: {self.kind.reason(error)}"


class VariableSet:
    """A set of variables and what they are set to. Immutable.

    The first source that sets a variable wins, within a source the prefixed spelling. An empty value is the same as
    an unset one. `defaults` replaces declared defaults, by name. Raises ConfigurationError naming every bad variable.
    """

    __slots__ = ("_assignments", "values")

    values: Mapping[str, Any]

    def __init__(self, sources: Sequence[Source], defaults: Mapping[str, str]) -> None:
        assignments = [_find(variable, sources, defaults) for variable in self.variables()]
        values: dict[str, Any] = {}
        problems: list[str] = []
        for one in assignments:
            try:
                values[one.name] = one.kind.parse(one.text)
            except ValueError as error:
                problems.append(one.problem(error))
        if problems:
            raise ConfigurationError(problems)
        self._assignments = tuple(assignments)
        self.values = MappingProxyType(values)

    @classmethod
    def variables(cls) -> list[Variable[Any]]:
        """The variables in the order of their declaration."""
        return [attribute for attribute in vars(cls).values() if isinstance(attribute, Variable)]

    def __iter__(self) -> Iterator[Assignment]:
        return iter(self._assignments)

    def is_set(self, variable: Variable[Any]) -> bool:
        """Whether somebody set the variable, be it to its default."""
        return any(one.name == variable.name and one.origin != DEFAULT for one in self)

    @property
    def secrets(self) -> frozenset[str]:
        """Every text that must never be shown: tokens, and credentials within URLs."""
        return frozenset(secret for one in self for secret in one.kind.secrets(one.text))


def _find(variable: Variable[Any], sources: Sequence[Source], defaults: Mapping[str, str]) -> Assignment:
    for source in sources:
        for spelling in (variable.prefixed, variable.name):
            if text := source.values.get(spelling):
                return Assignment(variable.name, variable.kind, text, spelling, source.name)
    default = defaults.get(variable.name, variable.default)
    return Assignment(variable.name, variable.kind, default, variable.name, DEFAULT)
