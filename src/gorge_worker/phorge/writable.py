"""Whether files can be created in a folder, and if not, what is to be done about it."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from gorge_worker.errors import GorgeWorkerError
from gorge_worker.phorge.replacing import give_to_owner_of

USUAL_MODE = 0o755


class NotWritable(GorgeWorkerError):
    """Files can't be created in a folder, nor removed from it."""


def check_writable(folder: Path) -> None:
    """Raises NotWritable, OSError."""
    if os.access(folder, os.W_OK | os.X_OK):
        return
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise NotWritable(f"{folder} is on a read-only file system: do this where Phorge is kept, or mount it writable")
    able = " or as ".join(dict.fromkeys([_user_name(folder.stat().st_uid), "root"]))
    raise NotWritable(f"{_user_name(os.geteuid())} may not write in {folder}: do this as {able}")


def create_folder(folder: Path, like: Path) -> None:
    """Creates it with mode 0755 and, where root does it, the owner and the group of `like`. Raises OSError."""
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(descriptor, USUAL_MODE)
        give_to_owner_of(like, descriptor)
    finally:
        os.close(descriptor)


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
