"""The product's PHP files in a Phorge's folder for extensions: what is there, how they get there, how they go."""

from __future__ import annotations

import enum
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gorge_worker.errors import GorgeWorkerError
from gorge_worker.phorge.checkout import check_phorge
from gorge_worker.phorge.replacing import replace_files, sync_folder
from gorge_worker.phorge.shipped import has_our_name, is_ours, shipped_files
from gorge_worker.phorge.writable import check_writable, create_folder

LONGEST_READ = 1 << 20
"""Bytes; no file of ours is so long."""


class NoPhorge(GorgeWorkerError):
    """The folder is no Phorge."""


class InTheWay(GorgeWorkerError):
    """Something that is not ours has the place of one of our files. The message has a line for each."""


class NotDone(GorgeWorkerError):
    """The system refused to read, write or remove a file."""


class State(enum.Enum):
    CURRENT = enum.auto()
    DIFFERS = enum.auto()
    MISSING = enum.auto()
    LEFT_OVER = enum.auto()
    """Ours, of a version that had a file of this name."""
    IN_THE_WAY = enum.auto()


@dataclass(frozen=True)
class Found:
    """A file of ours, or the place of one."""

    name: str
    state: State
    obstacle: str = ""
    """What is in the way, for people."""


class Installation:
    """What is, or could be, installed in the Phorge at `root`. Raises NoPhorge, IncompleteInstallation."""

    def __init__(self, root: Path) -> None:
        if reason := check_phorge(root):
            raise NoPhorge(reason)
        self._source = root / "src"
        self.folder = self._source / "extensions"
        self._shipped = shipped_files()

    def look(self) -> list[Found]:
        """Every file that this version ships, then those that other versions have left. Raises InTheWay, NotDone."""
        try:
            there = self._listed()
            shipped = [self._found(name) for name in self._shipped]
            others = [name for name in there if has_our_name(name) and name not in self._shipped]
            return shipped + [Found(name, State.LEFT_OVER) for name in others if self._is_left_over(name)]
        except OSError as error:
            raise NotDone(f"{error.filename or self.folder} can't be read: {error.strerror}") from error

    def install(self) -> list[Found]:
        """Puts everything right and returns what was found before. What is right already is not written.

        Raises InTheWay, NotWritable, both before anything is written, and NotDone.
        """
        found = self._nothing_in_the_way()
        stale = [one.name for one in found if one.state in {State.DIFFERS, State.MISSING}]
        left_over = [one.name for one in found if one.state is State.LEFT_OVER]
        if not stale and not left_over:
            return found
        try:
            is_there = self.folder.is_dir()
            check_writable(self.folder if is_there else self._source)
            if not is_there:
                create_folder(self.folder, like=self._source)
            replace_files(self.folder, {name: self._shipped[name] for name in stale}, like=self._source)
            self._remove(left_over)
        except OSError as error:
            raise NotDone(f"{error.filename or self.folder} can't be written: {error.strerror}") from error
        return found

    def uninstall(self) -> list[str]:
        """Removes every file that the product has brought, and returns their names.

        Raises InTheWay, NotWritable, both before anything is removed, and NotDone.
        """
        names = [one.name for one in self._nothing_in_the_way() if one.state is not State.MISSING]
        if not names:
            return names
        try:
            check_writable(self.folder)
            self._remove(names)
        except OSError as error:
            raise NotDone(f"{error.filename or self.folder} can't be removed: {error.strerror}") from error
        return names

    def _listed(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))  # noqa: PTH208 - Path.iterdir yields paths, names are needed
        except FileNotFoundError:
            # A symbolic link that leads nowhere is listed among its folder's files, and is not to be created anew.
            if not self.folder.is_symlink():
                return []
            raise InTheWay(f"{self.folder} is a symbolic link that leads nowhere") from None
        except NotADirectoryError:
            raise InTheWay(f"{self.folder} is not a folder") from None

    def _found(self, name: str) -> Found:
        path = self.folder / name
        is_link = path.is_symlink()
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return Found(name, State.DIFFERS if is_link else State.MISSING)
        if not stat.S_ISREG(mode):
            return Found(name, State.IN_THE_WAY, "a folder" if stat.S_ISDIR(mode) else "not a plain file")
        content = _read(path)
        if not is_ours(content):
            return Found(name, State.IN_THE_WAY, 'a file that is not gorge-worker\'s: no line "Part of gorge-worker"')
        is_current = not is_link and content == self._shipped[name]
        return Found(name, State.CURRENT if is_current else State.DIFFERS)

    def _is_left_over(self, name: str) -> bool:
        path = self.folder / name
        try:
            return stat.S_ISREG(path.stat().st_mode) and is_ours(_read(path))
        except FileNotFoundError:
            return False

    def _nothing_in_the_way(self) -> list[Found]:
        found = self.look()
        if obstacles := [one for one in found if one.state is State.IN_THE_WAY]:
            lines = [f"{self.folder / one.name} is {one.obstacle}; move it away" for one in obstacles]
            raise InTheWay("\n".join([*lines, "nothing was changed"]))
        return found

    def _remove(self, names: list[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)
        sync_folder(self.folder)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LONGEST_READ)
