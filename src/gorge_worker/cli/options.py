"""What several commands share: options, types of arguments, and how settings are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from gorge_worker.config.kinds import Kind
from gorge_worker.config.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])


class Value(click.ParamType):  # type: ignore[type-arg]  # older releases of click know no argument for it
    """An argument of the same kind as a variable of the environment."""

    def __init__(self, kind: Kind[Any], name: str) -> None:
        self._kind = kind
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._kind.parse(value)
        except ValueError as error:
            self.fail(f"{self._kind.show(value)!r} can't be used: {self._kind.reason(error)}", param, ctx)


def env_file_option(command: Function) -> Function:
    return click.option(
        "--env-file",
        type=click.Path(path_type=Path),
        help="A file of NAME=value lines, for what the environment does not set.",
    )(command)


def read_settings(env_file: Path | None = None, defaults: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. Raises ConfigurationError."""
    return Settings.read(os.environ, env_file, defaults=defaults)


def settings_for_service(
    env_file: Path | None, defaults: Mapping[str, str] | None = None, *, secrets: Iterable[str] = ()
) -> Settings:
    """The same for a command that goes on running: what happens from here on is logged.

    `secrets` are those of the command line, which no line may show either.
    """
    from gorge_worker import logs  # noqa: PLC0415 - structlog takes a while, and `--help` needs none of it

    settings = read_settings(env_file, defaults)
    logs.configure(settings.log_level, settings.log_format, [*settings.secrets, *secrets])
    return settings
