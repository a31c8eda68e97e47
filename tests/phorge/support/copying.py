"""A private copy of Phorge and of arcanist."""

from __future__ import annotations

import shutil
from pathlib import Path

from phorge.support.given import Given

EXTENSIONS = Path(__file__).with_name("extensions")
OF_THE_INSTALL = ("conf/local", "src/extensions")
"""Folders whose content belongs to the install that is copied, and not to Phorge."""


def copy(given: Given, folder: Path) -> Path:
    """Copies both without history, configuration and extensions, adds the suite's task classes, returns the root."""
    root = folder / "phorge"
    left_out = {given.root / name for name in OF_THE_INSTALL}

    def ignored(where: str, names: list[str]) -> set[str]:
        if Path(where) in left_out:
            return set(names) - {"README"}
        return {".git"} & set(names)

    shutil.copytree(given.root, root, symlinks=True, ignore=ignored)
    shutil.copytree(given.arcanist, folder / "arcanist", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for extension in EXTENSIONS.glob("*.php"):
        shutil.copy(extension, root / "src/extensions")
    return root
