"""The processes that a program has started, and how much memory they need."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> set[int]:
    """The processes below one, of every generation."""
    own: set[int] = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        own |= {int(child) for child in (thread / "children").read_text().split()}
    return own.union(*(children(child) for child in own))


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def memory(pid: int) -> float:
    """MiB: the process's own pages, and its share of those that it has in common with others (PSS)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == "Pss":
            return int(rest.split()[0]) / 1024
    raise AssertionError(f"no Pss of process {pid}")
