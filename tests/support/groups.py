"""Process groups, as the kernel shows them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def members(group: int) -> list[int]:
    """The processes of a group that still run: those that have ended stay until somebody has asked for their code."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has gone in the meantime
            state, _, of_group = stat.read_text().rpartition(") ")[2].split()[:3]
            if int(of_group) == group and state not in "ZX":
                found.append(int(stat.parent.name))
    return found
