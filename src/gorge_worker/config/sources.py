"""Where variables are set: the environment, and a .env file behind it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gorge_worker.errors import ConfigurationError


class Source(msgspec.Struct, frozen=True):
    """Variables by name; `name` is the source's own, as it completes "in ..."."""

    name: str
    values: Mapping[str, str]


def read_env_file(path: Path) -> Source:
    """Reads a .env file: NAME=value lines, quotes and comments as in python-dotenv, `$` with no meaning of its own.

    Raises ConfigurationError, which shows no line of the file: it may hold a secret.
    """
    from dotenv.parser import parse_stream  # noqa: PLC0415 - not everyone has such a file, and it takes a while

    shown = os.fsencode(path).decode(errors="replace")
    try:
        # As in the environment, a token need not be UTF-8.
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
            bindings = list(parse_stream(lines))
    except OSError as error:
        raise ConfigurationError([f"the environment file {shown} can't be read: {error.strerror}"]) from error
    values: dict[str, str] = {}
    problems: list[str] = []
    for binding in bindings:
        if binding.error or (binding.key is not None and binding.value is None):
            problems.append(f"line {binding.original.line} of the environment file {shown} is not NAME=value")
        elif binding.key is not None:
            values[binding.key] = binding.value or ""
    if problems:
        raise ConfigurationError(problems)
    return Source(shown, values)
