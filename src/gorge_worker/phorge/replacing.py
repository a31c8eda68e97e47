"""Writes files so that a reader sees the old content or the new one, and nothing in between."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

READABLE_BY_ALL = 0o644
SUFFIX = ".new"
"""Phorge loads every `.php` that it finds in the folder, an unfinished one too."""


def replace_files(folder: Path, contents: Mapping[str, bytes], like: Path) -> None:
    """Puts the files into the folder: none before all of them are on the disk. Raises OSError.

    They get mode 0644 and, where root does it, the owner and the group of `like`. A symbolic link in the place of a
    file is replaced, and what it points to is left alone.
    """
    staged: dict[Path, Path] = {}
    try:
        for name, content in contents.items():
            staged[_stage(folder, name, content, like)] = folder / name
        for temporary, final in list(staged.items()):
            temporary.replace(final)
            del staged[temporary]
    finally:
        for temporary in staged:
            temporary.unlink(missing_ok=True)
    sync_folder(folder)


def give_to_owner_of(like: Path, descriptor: int) -> None:
    """Gives an open file or folder the owner and the group of `like`, where root does it. Raises OSError."""
    wanted, present = like.stat(), os.fstat(descriptor)
    if os.geteuid() == 0 and (wanted.st_uid, wanted.st_gid) != (present.st_uid, present.st_gid):
        os.fchown(descriptor, wanted.st_uid, wanted.st_gid)


def sync_folder(folder: Path) -> None:
    """Makes what the folder lists outlast a crash of the machine. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stage(folder: Path, name: str, content: bytes, like: Path) -> Path:
    # All of it through the one descriptor: whoever owns the folder may put something else in the place of the path.
    descriptor, path = tempfile.mkstemp(prefix=f".{name}.", suffix=SUFFIX, dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, READABLE_BY_ALL)
            give_to_owner_of(like, descriptor)
            os.fsync(descriptor)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    return Path(path)
