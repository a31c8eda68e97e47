"""Whether a folder is a Phorge that PHP can be started with."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

INIT_SCRIPT = Path("scripts/init/init-script.php")
LIBRARY_MAP = Path("src/__phutil_library_map__.php")
ARCANIST_INIT_SCRIPT = Path("support/init/init-script.php")


def check_checkout(root: Path) -> str | None:
    """Why PHP can't be started with the Phorge in this folder, in words for people; None: it can."""
    return check_phorge(root) or check_arcanist(root)


def check_phorge(root: Path) -> str | None:
    """Why this folder is no Phorge, in words for people; None: it is one, with arcanist or without."""
    if trouble := _trouble(root, stat.S_ISDIR, "folder"):
        return trouble
    for part in (INIT_SCRIPT, LIBRARY_MAP):
        if trouble := _trouble(root / part, stat.S_ISREG, "file"):
            return f"{root} is no Phorge that can be used: {trouble}"
    return None


def check_arcanist(root: Path) -> str | None:
    """Why Phorge's library is not beside this Phorge, in words for people; None: it is.

    The folder must be a Phorge.
    """
    # Where PHP looks: it resolves the symbolic links of its scripts before it goes up.
    beside = (root / INIT_SCRIPT).resolve().parents[3] / "arcanist"
    if trouble := _trouble(beside / ARCANIST_INIT_SCRIPT, stat.S_ISREG, "file"):
        return f"Phorge needs arcanist beside it, in {beside}: {trouble}"
    return None


def _trouble(path: Path, is_wanted: Callable[[int], bool], wanted: str) -> str | None:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"{path} does not exist"
    except OSError as error:
        return f"{path} can't be reached: {error.strerror}"
    if not is_wanted(mode):
        return f"{path} is not a {wanted}"
    if not os.access(path, os.R_OK | (os.X_OK if stat.S_ISDIR(mode) else 0)):
        return f"{path} can't be read by this user"
    return None
