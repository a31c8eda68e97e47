from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.phorge_folder import make_phorge

from gorge_worker.phorge.installation import Installation, InTheWay, NoPhorge, State
from gorge_worker.phorge.shipped import shipped_files

SHIPPED = shipped_files()
FIRST, SECOND = list(SHIPPED)[:2]
OURS = b"<?php\n\n// Part of gorge-worker.\n\nfinal class GorgeWorkerOld {}\n"
FOREIGN = b"<?php\n\nfinal class GorgeWorkerOld {}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_phorge(tmp_path)


@pytest.fixture
def extensions(root: Path) -> Path:
    return root / "src" / "extensions"


def states(root: Path) -> dict[str, State]:
    return {one.name: one.state for one in Installation(root).look()}


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def test_everything_is_missing_before_and_current_after(root: Path, extensions: Path) -> None:
    assert states(root) == dict.fromkeys(SHIPPED, State.MISSING)
    assert [one.name for one in Installation(root).install()] == list(SHIPPED)
    assert states(root) == dict.fromkeys(SHIPPED, State.CURRENT)
    assert contents(extensions) == SHIPPED | {"README": b"<?php\n"}


def test_what_is_current_is_not_written_again(root: Path, extensions: Path) -> None:
    Installation(root).install()
    (extensions / FIRST).write_bytes(OURS)
    before = (extensions / SECOND).stat()
    found = {one.name: one.state for one in Installation(root).install()}
    assert (found[FIRST], found[SECOND]) == (State.DIFFERS, State.CURRENT)
    assert (extensions / SECOND).stat() == before
    assert (extensions / FIRST).read_bytes() == SHIPPED[FIRST]


def test_a_file_that_only_goes_on_longer_differs(root: Path, extensions: Path) -> None:
    Installation(root).install()
    with (extensions / FIRST).open("ab") as file:
        file.write(b"\n")
    assert states(root)[FIRST] is State.DIFFERS


def test_a_missing_folder_is_created(root: Path, extensions: Path) -> None:
    (extensions / "README").unlink()
    extensions.rmdir()
    assert states(root) == dict.fromkeys(SHIPPED, State.MISSING)
    assert Installation(root).uninstall() == []
    before = os.umask(0o077)
    try:
        Installation(root).install()
    finally:
        os.umask(before)
    assert contents(extensions) == SHIPPED
    assert extensions.stat().st_mode & 0o7777 == 0o755


def test_files_of_other_versions_go_and_those_of_others_stay(root: Path, extensions: Path) -> None:
    (extensions / "GorgeWorkerOld.php").write_bytes(OURS)
    (extensions / "GorgeWorkerTheirs.php").write_bytes(FOREIGN)
    (extensions / "Other.php").write_bytes(OURS)
    (extensions / "GorgeWorkerFolder.php").mkdir()
    (extensions / "GorgeWorkerNowhere.php").symlink_to("nowhere")
    assert states(root)["GorgeWorkerOld.php"] is State.LEFT_OVER
    assert Installation(root).install()[-1].name == "GorgeWorkerOld.php"
    stay = {"README": b"<?php\n", "GorgeWorkerTheirs.php": FOREIGN, "Other.php": OURS}
    assert contents(extensions) == SHIPPED | stay
    assert states(root) == dict.fromkeys(SHIPPED, State.CURRENT)

    (extensions / "GorgeWorkerOld.php").write_bytes(OURS)
    assert Installation(root).uninstall() == [*SHIPPED, "GorgeWorkerOld.php"]
    assert contents(extensions) == stay
    assert (extensions / "GorgeWorkerFolder.php").is_dir()
    assert (extensions / "GorgeWorkerNowhere.php").is_symlink()


def test_only_left_over_files_are_a_reason_to_act(root: Path, extensions: Path) -> None:
    Installation(root).install()
    (extensions / "GorgeWorkerOld.php").write_bytes(OURS)
    Installation(root).install()
    assert not (extensions / "GorgeWorkerOld.php").exists()


@pytest.mark.parametrize("act", [Installation.install, Installation.uninstall])
def test_nothing_changes_while_something_is_in_the_way(root: Path, extensions: Path, act: object) -> None:
    (extensions / FIRST).write_bytes(FOREIGN)
    (extensions / SECOND).mkdir()
    (extensions / "GorgeWorkerOld.php").write_bytes(OURS)
    before = contents(extensions)
    assert callable(act)
    with pytest.raises(InTheWay) as raised:
        act(Installation(root))
    assert str(raised.value).splitlines() == [
        f'{extensions}/{FIRST} is a file that is not gorge-worker\'s: no line "Part of gorge-worker"; move it away',
        f"{extensions}/{SECOND} is a folder; move it away",
        "nothing was changed",
    ]
    assert contents(extensions) == before
    assert states(root)[FIRST] is State.IN_THE_WAY


def test_a_pipe_in_the_place_of_a_file_is_in_the_way(root: Path, extensions: Path) -> None:
    os.mkfifo(extensions / FIRST)
    with pytest.raises(InTheWay, match="is not a plain file"):
        Installation(root).install()


@pytest.mark.parametrize("content", [OURS, SHIPPED[FIRST], None])
def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(
    root: Path, extensions: Path, tmp_path: Path, content: bytes | None
) -> None:
    target = tmp_path / "target.php"
    if content is not None:
        target.write_bytes(content)
    (extensions / FIRST).symlink_to(target)
    assert states(root)[FIRST] is State.DIFFERS
    Installation(root).install()
    assert not (extensions / FIRST).is_symlink()
    assert states(root)[FIRST] is State.CURRENT
    assert (target.read_bytes() if target.exists() else None) == content


def test_a_link_to_somebody_elses_file_is_in_the_way(root: Path, extensions: Path, tmp_path: Path) -> None:
    (tmp_path / "target.php").write_bytes(FOREIGN)
    (extensions / FIRST).symlink_to(tmp_path / "target.php")
    with pytest.raises(InTheWay):
        Installation(root).install()
    assert (extensions / FIRST).is_symlink()


def test_uninstalling_removes_a_link_and_not_what_it_leads_to(root: Path, extensions: Path, tmp_path: Path) -> None:
    (tmp_path / "target.php").write_bytes(OURS)
    (extensions / FIRST).symlink_to(tmp_path / "target.php")
    assert Installation(root).uninstall() == [FIRST]
    assert contents(extensions) == {"README": b"<?php\n"}
    assert (tmp_path / "target.php").read_bytes() == OURS


def test_a_root_and_a_folder_that_are_links_are_followed(root: Path, extensions: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    extensions.rename(kept)
    extensions.symlink_to(kept)
    (tmp_path / "current").symlink_to(root)
    Installation(tmp_path / "current").install()
    assert extensions.is_symlink()
    assert contents(kept).keys() == {*SHIPPED, "README"}


def test_a_file_in_the_place_of_the_folder_is_in_the_way(root: Path, extensions: Path) -> None:
    (extensions / "README").rename(root / "README")
    extensions.rmdir()
    extensions.write_bytes(b"")
    with pytest.raises(InTheWay, match="is not a folder"):
        Installation(root).install()
    extensions.unlink()
    extensions.symlink_to("nowhere")
    with pytest.raises(InTheWay, match="leads nowhere"):
        Installation(root).install()


def test_a_folder_that_is_no_phorge_is_refused(root: Path) -> None:
    (root / "src/__phutil_library_map__.php").unlink()
    with pytest.raises(NoPhorge, match="is no Phorge"):
        Installation(root)


def test_what_root_creates_belongs_to_whom_the_source_belongs(root: Path, extensions: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    (extensions / "README").unlink()
    extensions.rmdir()
    os.chown(root / "src", 4711, 4712)
    Installation(root).install()
    made = [extensions, *extensions.iterdir()]
    assert {(one.stat().st_uid, one.stat().st_gid) for one in made} == {(4711, 4712)}
