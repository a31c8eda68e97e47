from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.phorge_folder import make_phorge

from gorge_worker.phorge.checkout import check_arcanist, check_checkout, check_phorge


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_phorge(tmp_path)


def test_a_phorge_with_arcanist_beside_it_can_be_used(root: Path) -> None:
    assert check_checkout(root) is None


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    assert check_checkout(tmp_path / "no") == f"{tmp_path}/no does not exist"


def test_a_path_through_a_file_does_not_exist(root: Path) -> None:
    inside = root / "src/extensions/README/phorge"
    assert check_checkout(inside) == f"{inside} does not exist"


def test_a_file_is_no_folder(root: Path) -> None:
    file = root / "src/extensions/README"
    assert check_checkout(file) == f"{file} is not a folder"


@pytest.mark.parametrize("part", ["scripts/init/init-script.php", "src/__phutil_library_map__.php"])
def test_a_folder_without_phorges_own_files_is_no_phorge(root: Path, part: str) -> None:
    (root / part).unlink()
    assert check_checkout(root) == f"{root} is no Phorge that can be used: {root / part} does not exist"


def test_a_folder_in_the_place_of_a_script_is_no_script(root: Path) -> None:
    script = root / "scripts/init/init-script.php"
    script.unlink()
    script.mkdir()
    assert check_checkout(root) == f"{root} is no Phorge that can be used: {script} is not a file"


def test_symbolic_links_in_a_circle_are_a_reason(tmp_path: Path) -> None:
    (tmp_path / "phorge").symlink_to("phorge")
    reason = check_checkout(tmp_path / "phorge")
    assert reason is not None
    assert reason.startswith(f"{tmp_path}/phorge can't be reached: ")


def test_a_missing_arcanist_is_a_reason_that_names_its_place(root: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "arcanist")
    reason = check_checkout(root)
    assert reason == (
        f"Phorge needs arcanist beside it, in {tmp_path}/arcanist:"
        f" {tmp_path}/arcanist/support/init/init-script.php does not exist"
    )
    assert check_phorge(root) is None


def test_arcanist_is_looked_for_beside_the_folder_that_a_link_leads_to(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "current"
    link.parent.mkdir()
    link.symlink_to(root)
    assert check_checkout(link) is None
    shutil.move(tmp_path / "arcanist", link.parent / "arcanist")
    assert check_arcanist(link) is not None


def test_a_relative_folder_can_be_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert check_checkout(Path()) is None
