from __future__ import annotations

import os
from pathlib import Path

import pytest

from gorge_worker.phorge.replacing import replace_files


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_everyone_can_read_the_files_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        replace_files(tmp_path, {"A.php": b"1", "B.php": b"2"}, like=tmp_path)
    finally:
        os.umask(before)
    assert names(tmp_path) == ["A.php", "B.php"]
    assert {(tmp_path / name).stat().st_mode & 0o7777 for name in names(tmp_path)} == {0o644}
    assert (tmp_path / "B.php").read_bytes() == b"2"


def test_a_reader_of_the_old_file_goes_on_reading_it(tmp_path: Path) -> None:
    (tmp_path / "A.php").write_bytes(b"old")
    with (tmp_path / "A.php").open("rb") as reader:
        replace_files(tmp_path, {"A.php": b"newer"}, like=tmp_path)
        assert reader.read() == b"old"
    assert (tmp_path / "A.php").read_bytes() == b"newer"


def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.write_bytes(b"other")
    (folder / "A.php").symlink_to(other)
    replace_files(folder, {"A.php": b"new"}, like=folder)
    assert not (folder / "A.php").is_symlink()
    assert ((folder / "A.php").read_bytes(), other.read_bytes()) == (b"new", b"other")


def test_a_file_that_cannot_be_written_leaves_all_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "A.php").write_bytes(b"old")
    too_long = "B" * 255
    with pytest.raises(OSError, match="File name too long"):
        replace_files(tmp_path, {"A.php": b"new", too_long: b"new"}, like=tmp_path)
    assert names(tmp_path) == ["A.php"]
    assert (tmp_path / "A.php").read_bytes() == b"old"


def test_a_file_that_cannot_be_finished_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_files(tmp_path, {"A.php": b"new"}, like=tmp_path / "no")
    assert names(tmp_path) == []


def test_a_name_that_cannot_be_replaced_leaves_no_unfinished_file(tmp_path: Path) -> None:
    (tmp_path / "A.php").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_files(tmp_path, {"A.php": b"new", "B.php": b"new"}, like=tmp_path)
    assert names(tmp_path) == ["A.php"]


def test_files_written_by_root_belong_to_whom_the_folder_belongs(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    like = tmp_path / "like"
    like.mkdir()
    os.chown(like, 4711, 4712)
    replace_files(tmp_path, {"A.php": b"1"}, like=like)
    made = (tmp_path / "A.php").stat()
    assert (made.st_uid, made.st_gid) == (4711, 4712)
