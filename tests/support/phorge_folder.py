"""Folders that look like a Phorge and its arcanist to whoever looks for files."""

from __future__ import annotations

from pathlib import Path

FILES = (
    "phorge/scripts/init/init-script.php",
    "phorge/src/__phutil_library_map__.php",
    "phorge/src/extensions/README",
    "arcanist/support/init/init-script.php",
)


def make_phorge(folder: Path) -> Path:
    """Makes both in the folder, and returns Phorge's root."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<?php\n")
    return folder / "phorge"
