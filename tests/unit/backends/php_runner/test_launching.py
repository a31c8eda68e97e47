from __future__ import annotations

import getpass
import os
import pwd
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker.backends.php_runner.launching import RUNNER_SCRIPT, Launch
from gorge_worker.config.settings import Settings
from gorge_worker.errors import BackendUnavailable, ConfigurationError

NOBODY = "nobody"


def checkout(folder: Path) -> Path:
    for file in (
        "phorge/scripts/init/init-script.php",
        "phorge/src/__phutil_library_map__.php",
        "arcanist/support/init/init-script.php",
    ):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder / "phorge"


@pytest.fixture
def php(tmp_path: Path) -> Path:
    path = tmp_path / "php"
    path.touch(mode=0o755)
    return path


def test_the_command_names_all_that_the_runner_needs(tmp_path: Path, php: Path) -> None:
    launch = Launch(root=checkout(tmp_path), php=str(php), max_tasks=7, max_rss_mb=99)
    command = launch.command(Path("/run/requests"), Path("/run/answers"))
    assert command[0] == str(php)
    assert RUNNER_SCRIPT.is_file()
    assert command[-6:] == [
        str(RUNNER_SCRIPT),
        f"--root={tmp_path}/phorge",
        "--requests=/run/requests",
        "--answers=/run/answers",
        "--max-tasks=7",
        "--max-rss=99",
    ]


def test_a_missing_php_is_named_with_what_to_do(tmp_path: Path) -> None:
    launch = Launch(root=checkout(tmp_path), php="php-of-nobody")
    with pytest.raises(BackendUnavailable, match=r"^PHP_BINARY=php-of-nobody: there is no such command"):
        launch.command(tmp_path, tmp_path)


def test_a_root_that_is_no_phorge_is_named(tmp_path: Path, php: Path) -> None:
    with pytest.raises(BackendUnavailable, match=f"^PHORGE_ROOT={tmp_path}: "):
        Launch(root=tmp_path, php=str(php)).command(tmp_path, tmp_path)


@given(st.dictionaries(st.sampled_from([one.name for one in Settings.variables()]), st.text(), max_size=5))
def test_no_variable_of_the_worker_reaches_php(variables: dict[str, str]) -> None:
    prefixed = {f"GORGE_WORKER_{name}": value for name, value in variables.items()}
    passed = Launch(root=Path("/srv/phorge")).environment(variables | prefixed | {"AWS_SECRET": "x", "PATH": "/bin"})
    assert passed == {"PATH": "/bin"}


def test_php_gets_its_language_its_time_zone_and_phorges_own_variables() -> None:
    own = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PHABRICATOR_ENV": "production", "HOME": "/root"}
    passed = Launch(root=Path("/srv/phorge")).environment(own)
    assert passed.items() >= own.items()
    assert passed["PATH"]


def test_an_unknown_user_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match="RUNNER_USER=nobody-of-that-name: this system has no such user"):
        Launch(root=Path("/srv/phorge"), user="nobody-of-that-name").check_user()


def test_only_root_can_choose_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(ConfigurationError, match=f"RUNNER_USER={NOBODY}: only root can start PHP as another user"):
        Launch(root=Path("/srv/phorge"), user=NOBODY).check_user()


def test_another_user_needs_setpriv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigurationError, match=f"RUNNER_USER={NOBODY}: needs setpriv"):
        Launch(root=Path("/srv/phorge"), user=NOBODY).check_user()


def test_the_workers_own_user_needs_nothing(tmp_path: Path, php: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = Launch(root=checkout(tmp_path), php=str(php), user=getpass.getuser())
    monkeypatch.setenv("PATH", "/nowhere")
    launch.check_user()
    assert launch.identity() is None
    assert launch.command(tmp_path, tmp_path)[0] == str(php)


def test_another_user_gets_its_own_home_and_groups(tmp_path: Path, php: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    launch, nobody = Launch(root=checkout(tmp_path), php=str(php), user=NOBODY), pwd.getpwnam(NOBODY)
    assert launch.identity() == (nobody.pw_uid, nobody.pw_gid)
    command = launch.command(tmp_path, tmp_path)
    assert command[:5] == ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--init-groups", "--"]
    passed = launch.environment({"HOME": "/root", "USER": "root"})
    assert (passed["HOME"], passed["USER"]) == (nobody.pw_dir, NOBODY)
