"""Reads a Dockerfile and .dockerignore as far as this project uses them, for machines without a container engine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@dataclass(frozen=True)
class Instruction:
    """One instruction with its `--name=value` flags taken apart, e.g. COPY with `from`."""

    name: str
    flags: dict[str, str]
    text: str

    @property
    def words(self) -> list[str]:
        return self.text.split()

    @property
    def exec_form(self) -> list[str]:
        """The words of an exec form, which needs no shell; fails for the shell form."""
        words = json.loads(self.text)
        assert isinstance(words, list), f"{self.name} is not in exec form: {self.text}"
        return words


@dataclass
class Stage:
    """What a FROM starts. `base` has the build arguments' defaults filled in."""

    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> list[Instruction]:
        return [one for one in self.instructions if one.name == name]

    def last(self, name: str) -> Instruction:
        """The instruction that holds where several would override one another."""
        assert self.all(name), f"no {name} in the stage from {self.base}"
        return self.all(name)[-1]

    @property
    def environment(self) -> dict[str, str]:
        pairs = (pair.partition("=") for one in self.all("ENV") for pair in one.words)
        return {name: value for name, _, value in pairs}


def stages(text: str) -> list[Stage]:
    found: list[Stage] = []
    arguments: dict[str, str] = {}
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if not line.strip():
            continue
        instruction = _instruction(line)
        if instruction.name == "ARG" and not found:
            name, _, default = instruction.text.partition("=")
            arguments[name] = default
        elif instruction.name == "FROM":
            base, *alias = instruction.words
            for name, default in arguments.items():
                base = base.replace(f"${{{name}}}", default)
            found.append(Stage(base, alias[-1] if alias else ""))
        else:
            found[-1].instructions.append(instruction)
    return found


def _instruction(line: str) -> Instruction:
    name, *words = line.split()
    flags: dict[str, str] = {}
    while words and words[0].startswith("--") and name in {"COPY", "HEALTHCHECK", "RUN", "FROM"}:
        flag, _, value = words.pop(0)[2:].partition("=")
        flags[flag] = value
    return Instruction(name, flags, " ".join(words))


def in_context(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore lets a path of the checkout into the build: the last pattern that matches decides."""
    parents = [path, *map(str, Path(path).parents)][:-1]
    kept = True
    for pattern in patterns:
        names = pattern.removeprefix("!")
        forms = [names, names.removeprefix("**/")]
        if any(fnmatch(parent, form) for parent in parents for form in forms):
            kept = pattern.startswith("!")
    return kept


def ignore_patterns() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
