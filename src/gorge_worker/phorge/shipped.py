"""The PHP files that Phorge loads, and how they are known again."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from gorge_worker.errors import GorgeWorkerError

EXTENSIONS = Path(__file__).with_name("extensions")
"""The folder with the files, one class a file."""
NAMES = "GorgeWorker*.php"

_HEADER = re.compile(rb"^[ \t]*(?://|#|/?\*+)[ \t]*Part of gorge-worker(?![\w-])", re.MULTILINE)
_HEADER_WITHIN = 1024
"""Bytes."""


class IncompleteInstallation(GorgeWorkerError):
    """The product itself lacks files."""


def shipped_files() -> dict[str, bytes]:
    """Content by name, in the order of the names. Raises IncompleteInstallation."""
    files = {path.name: path.read_bytes() for path in sorted(EXTENSIONS.glob("*.php"))}
    if not files:
        raise IncompleteInstallation(f"gorge-worker lacks its PHP files in {EXTENSIONS}; install gorge-worker again")
    return files


def has_our_name(name: str) -> bool:
    return fnmatchcase(name, NAMES)


def is_ours(content: bytes) -> bool:
    """Whether the product has brought this file, in this version or in another one. Its beginning is enough."""
    return _HEADER.search(content[:_HEADER_WITHIN]) is not None
