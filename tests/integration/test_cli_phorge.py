from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.command import COMMAND, Ended, run, started
from support.phorge_folder import make_phorge

from gorge_worker.phorge.shipped import shipped_files

SHIPPED = shipped_files()
FIRST, SECOND, *_ = SHIPPED
OURS = b"<?php\n\n// Part of gorge-worker.\n"
FOREIGN = b"<?php\n\nfinal class Theirs {}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_phorge(tmp_path)


@pytest.fixture
def extensions(root: Path) -> Path:
    return root / "src" / "extensions"


@pytest.fixture
def powerless() -> tuple[str, ...]:
    """What makes a command one that may write where its user may, and not everywhere as root does."""
    if os.geteuid() != 0:
        return ()
    prefix = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    if shutil.which("setpriv") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("root can't be made powerless here")
    return prefix


@pytest.fixture
def read_only(root: Path) -> tuple[str, ...]:
    """What starts a command for which Phorge's folder is mounted read-only, for it alone and until it ends."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    whose = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    prefix = ("unshare", *whose, "--mount", "sh", "-c", mount, "sh", str(root))
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"nothing can be mounted here: {tried.stderr.strip()}")
    return prefix


async def phorge(command: str, root: Path, *options: str) -> Ended:
    return await run("phorge", command, "--root", str(root), *options)


async def run_behind(prefix: tuple[str, ...], *arguments: str) -> Ended:
    async with started(*arguments, command=(*prefix, *COMMAND)) as process:
        out, err = await process.communicate()
    assert "Traceback" not in err.decode(), err.decode()
    return Ended(process.returncode, out.decode(), err.decode())


def table(ended: Ended) -> dict[str, str]:
    rows = [line.split(maxsplit=1) for line in ended.out.split("\n\n")[0].splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() if one.is_file() else b"" for one in folder.iterdir()}


def set_mode(path: Path, mode: int) -> None:
    path.chmod(mode)


async def test_it_installs_says_what_comes_next_and_finds_all_current(root: Path, extensions: Path) -> None:
    ended = await phorge("install", root)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"In {extensions}:\n")
    assert table(ended) == dict.fromkeys(SHIPPED, "installed")
    assert f"{root}/bin/config set gorge-worker.callers '[\"USERNAME\"]'\n" in ended.out
    assert "Reload PHP-FPM or the web server" in ended.out
    assert contents(extensions) == SHIPPED | {"README": b"<?php\n"}

    assert table(await phorge("install", root)) == dict.fromkeys(SHIPPED, "already current")
    ended = await phorge("check", root)
    assert (ended.code, ended.err, table(ended)) == (0, "", dict.fromkeys(SHIPPED, "current"))


@pytest.mark.parametrize("command", [["check"], ["install", "--check"]])
async def test_a_check_names_all_that_is_not_current_and_changes_nothing(
    root: Path, extensions: Path, command: list[str]
) -> None:
    await phorge("install", root)
    (extensions / FIRST).write_bytes(OURS)
    (extensions / SECOND).unlink()
    (extensions / "GorgeWorkerOld.php").write_bytes(OURS)
    before = contents(extensions)
    ended = await phorge(command[0], root, *command[1:])
    assert ended.code == 1
    assert table(ended) == dict.fromkeys(SHIPPED, "current") | {
        FIRST: "differs",
        SECOND: "missing",
        "GorgeWorkerOld.php": "left over, this version has no such file",
    }
    assert ended.err == (
        f"gorge-worker: 3 of {len(SHIPPED) + 1} files are not as they should be;"
        f" to put that right: gorge-worker phorge install --root {root}\n"
    )
    assert contents(extensions) == before

    ended = await phorge("install", root)
    assert table(ended) == dict.fromkeys(SHIPPED, "already current") | {
        FIRST: "updated",
        SECOND: "installed",
        "GorgeWorkerOld.php": "removed, this version has no such file",
    }
    assert (await phorge("check", root)).code == 0


async def test_it_uninstalls_its_own_files_and_nothing_else(root: Path, extensions: Path) -> None:
    await phorge("install", root)
    (extensions / "GorgeWorkerOld.php").write_bytes(OURS)
    (extensions / "GorgeWorkerTheirs.php").write_bytes(FOREIGN)
    ended = await phorge("uninstall", root)
    assert (ended.code, ended.err) == (0, "")
    assert table(ended) == dict.fromkeys([*SHIPPED, "GorgeWorkerOld.php"], "removed")
    assert f"{root}/bin/config delete gorge-worker.callers\n" in ended.out
    assert contents(extensions) == {"README": b"<?php\n", "GorgeWorkerTheirs.php": FOREIGN}

    ended = await phorge("uninstall", root)
    assert (ended.code, ended.out, ended.err) == (0, f"There is nothing to remove in {extensions}.\n", "")


@pytest.mark.parametrize("command", ["install", "uninstall"])
async def test_somebody_elses_file_is_left_alone_and_named(root: Path, extensions: Path, command: str) -> None:
    (extensions / FIRST).write_bytes(FOREIGN)
    (extensions / SECOND).mkdir()
    ended = await phorge(command, root)
    assert (ended.code, ended.out) == (1, "")
    theirs = 'is a file that is not gorge-worker\'s: no line "Part of gorge-worker"'
    assert ended.err.splitlines() == [
        f"gorge-worker: {extensions}/{FIRST} {theirs}; move it away",
        f"gorge-worker: {extensions}/{SECOND} is a folder; move it away",
        "gorge-worker: nothing was changed",
    ]
    assert contents(extensions) == {FIRST: FOREIGN, SECOND: b"", "README": b"<?php\n"}


async def test_a_check_says_what_is_in_the_way(root: Path, extensions: Path) -> None:
    await phorge("install", root)
    (extensions / FIRST).unlink()
    (extensions / FIRST).mkdir()
    ended = await phorge("check", root)
    assert (ended.code, table(ended)[FIRST]) == (1, "in the way, a folder")
    assert "move away what is in the way, then gorge-worker phorge install" in ended.err


async def test_the_root_is_phorge_root_unless_the_option_names_another(root: Path, tmp_path: Path) -> None:
    ended = await run("phorge", "install", settings={"GORGE_WORKER_PHORGE_ROOT": str(root)})
    assert (ended.code, table(ended)) == (0, dict.fromkeys(SHIPPED, "installed"))
    other = str(tmp_path / "other")
    ended = await run("phorge", "check", "--root", other, settings={"PHORGE_ROOT": str(root)})
    assert (ended.code, ended.err) == (1, f"gorge-worker: {other} does not exist\n")


async def test_a_relative_root_is_taken_from_where_the_command_is_called(root: Path) -> None:
    ended = await run("phorge", "install", "--root", ".", folder=root)
    assert (ended.code, table(ended)) == (0, dict.fromkeys(SHIPPED, "installed"))


@pytest.mark.parametrize("command", ["install", "check", "uninstall"])
async def test_without_a_root_it_is_misuse(command: str) -> None:
    ended = await run("phorge", command)
    assert (ended.code, ended.out) == (2, "")
    assert "name Phorge's folder with --root, or set PHORGE_ROOT" in ended.err


async def test_a_phorge_root_that_cannot_be_used_has_exit_code_2() -> None:
    ended = await run("phorge", "check", settings={"PHORGE_ROOT": "phorge"})
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("gorge-worker: PHORGE_ROOT=phorge in the environment can't be used: ")


@pytest.mark.parametrize("command", ["install", "check", "uninstall"])
async def test_a_folder_that_is_no_phorge_is_named_with_what_it_lacks(root: Path, command: str) -> None:
    (root / "scripts/init/init-script.php").unlink()
    ended = await phorge(command, root)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"gorge-worker: {root} is no Phorge that can be used: {root}/scripts/init/init-script.php does not exist\n"
    )


async def test_a_missing_arcanist_is_a_warning_that_names_its_place(root: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "arcanist")
    ended = await phorge("install", root)
    assert (ended.code, table(ended)) == (0, dict.fromkeys(SHIPPED, "installed"))
    assert ended.err.startswith(f"gorge-worker: warning: Phorge needs arcanist beside it, in {tmp_path}/arcanist: ")
    assert (await phorge("check", root)).code == 0


async def test_without_the_right_to_write_nothing_is_written_and_the_owner_is_named(
    powerless: tuple[str, ...], root: Path, extensions: Path
) -> None:
    set_mode(extensions, 0o555)
    ended = await run_behind(powerless, "phorge", "install", "--root", str(root))
    assert (ended.code, ended.out) == (1, "")
    assert f"may not write in {extensions}: do this as " in ended.err
    assert contents(extensions) == {"README": b"<?php\n"}


async def test_without_the_right_to_write_nothing_is_removed(
    powerless: tuple[str, ...], root: Path, extensions: Path
) -> None:
    await phorge("install", root)
    set_mode(extensions, 0o555)
    ended = await run_behind(powerless, "phorge", "uninstall", "--root", str(root))
    assert (ended.code, ended.out) == (1, "")
    assert f"may not write in {extensions}" in ended.err
    assert contents(extensions) == SHIPPED | {"README": b"<?php\n"}


async def test_who_has_nothing_to_write_needs_no_right_to(
    powerless: tuple[str, ...], root: Path, extensions: Path
) -> None:
    await phorge("install", root)
    set_mode(extensions, 0o555)
    ended = await run_behind(powerless, "phorge", "install", "--root", str(root))
    assert (ended.code, table(ended)) == (0, dict.fromkeys(SHIPPED, "already current"))


async def test_a_file_that_cannot_be_read_is_named(powerless: tuple[str, ...], root: Path, extensions: Path) -> None:
    await phorge("install", root)
    set_mode(extensions / FIRST, 0)
    ended = await run_behind(powerless, "phorge", "check", "--root", str(root))
    assert (ended.code, ended.err) == (1, f"gorge-worker: {extensions}/{FIRST} can't be read: Permission denied\n")


async def test_a_read_only_file_system_is_named_as_the_reason(
    read_only: tuple[str, ...], root: Path, extensions: Path
) -> None:
    ended = await run_behind(read_only, "phorge", "install", "--root", str(root))
    assert (ended.code, ended.out) == (1, "")
    reason = "is on a read-only file system: do this where Phorge is kept, or mount it writable"
    assert ended.err == f"gorge-worker: {extensions} {reason}\n"


async def test_two_installations_at_once_leave_every_file_whole(root: Path, extensions: Path) -> None:
    both = await asyncio.gather(phorge("install", root), phorge("install", root))
    assert [one.code for one in both] == [0, 0], both
    assert contents(extensions) == SHIPPED | {"README": b"<?php\n"}


async def test_a_root_with_an_odd_name_is_quoted_for_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "our phorge's"
    root = make_phorge(folder)
    ended = await phorge("install", root)
    assert ended.code == 0
    shown = str(root / "bin/config").replace("'", "'\"'\"'")
    assert f"'{shown}' set gorge-worker.callers" in ended.out


async def test_a_root_whose_name_is_not_utf_8_can_be_used(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    root = make_phorge(Path(folder))
    ended = await phorge("install", root)
    assert (ended.code, ended.err) == (0, "")
    assert (await phorge("check", root)).code == 0
    (root / "src/extensions" / FIRST).unlink()
    assert (await phorge("check", root)).code == 1


@pytest.mark.parametrize("command", ["install", "check", "uninstall"])
async def test_the_help_of_every_command_ends_with_examples(command: str) -> None:
    ended = await run("phorge", command, "--help")
    assert ended.code == 0
    examples = ended.out.split("Examples:\n")[1].splitlines()
    assert all(f"gorge-worker phorge {command}" in line for line in examples)
