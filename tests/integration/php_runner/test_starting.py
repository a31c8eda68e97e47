"""A PHP that can't be started is the backend's trouble: it costs no task a failure, and says what to do."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.phorge_tree import StandIn
from support.runners import runners, task

from gorge_worker.backends.php_runner import process
from gorge_worker.errors import BackendUnavailable
from gorge_worker.model import Verdict

pytestmark = pytest.mark.needs("php")


async def why_not(phorge: StandIn, **options: Any) -> str:
    """Why a task can't be executed, and that a start by itself fails alike."""
    async with runners(phorge, **options) as php:
        reasons = []
        for start in (lambda: php.pool.execute(task()), php.pool.check):
            with pytest.raises(BackendUnavailable) as caught:
                await start()
            reasons.append(str(caught.value))
        assert not php.alive
    assert reasons[0] == reasons[1]
    assert "\n" not in reasons[0]
    return reasons[0]


async def test_what_is_started_before_there_is_a_task_executes_the_first_one(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        await php.pool.check()
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS
        assert len(php.started) == 1


async def test_a_php_that_is_not_there_is_named(phorge: StandIn) -> None:
    assert await why_not(phorge, php="php-of-nobody") == (
        "PHP_BINARY=php-of-nobody: there is no such command; install php-cli or set PHP_BINARY"
    )


async def test_a_php_that_is_no_php_is_quoted(phorge: StandIn, tmp_path: Path) -> None:
    binary = tmp_path / "php"
    binary.write_text("#!/bin/sh\necho 'I am no PHP.'\nexit 3\n")
    binary.chmod(0o755)
    assert await why_not(phorge, php=str(binary)) == "PHP does not start: I am no PHP."


async def test_a_php_that_says_nothing_is_told_by_its_exit_code(phorge: StandIn) -> None:
    false = shutil.which("false")
    assert await why_not(phorge, php=str(false)) == "PHP does not start: the PHP process ended with exit code 1"


async def test_a_program_that_is_broken_is_named(phorge: StandIn, tmp_path: Path) -> None:
    binary = tmp_path / "php"
    binary.write_bytes(b"\x7fELF")
    binary.chmod(0o755)
    assert await why_not(phorge, php=str(binary)) == f"can't start {binary}: Exec format error"


async def test_a_folder_that_is_no_phorge_is_named(phorge: StandIn) -> None:
    shutil.rmtree(phorge.root / "scripts")
    assert await why_not(phorge) == (
        f"PHORGE_ROOT={phorge.root}: {phorge.root} is no Phorge that can be used:"
        f" {phorge.root}/scripts/init/init-script.php does not exist"
    )


async def test_a_phorge_without_arcanist_beside_it_is_named(phorge: StandIn) -> None:
    shutil.rmtree(phorge.root.parent / "arcanist")
    assert "Phorge needs arcanist beside it" in await why_not(phorge)


async def test_a_configuration_that_is_no_json_is_named(phorge: StandIn) -> None:
    phorge.configure()
    phorge.configuration.write_text("{no")
    reason = await why_not(phorge)
    assert reason.startswith(f'PHP does not start: (Exception) Configuration file "{phorge.configuration}" exists')


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start PHP as another user")
@pytest.mark.needs("setpriv")
async def test_a_configuration_that_the_chosen_user_can_not_read_is_named(phorge: StandIn, tmp_path: Path) -> None:
    phorge.configure()
    phorge.configuration.chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    assert pwd.getpwnam("nobody").pw_uid != 0
    assert "exists, but could not be read" in await why_not(phorge, user="nobody")


async def test_a_database_that_is_away_is_named(phorge: StandIn) -> None:
    phorge.configure(mysql__host="127.0.0.1", mysql__port=1, mysql__user="nobody", mysql__pass="a-secret")
    reason = await why_not(phorge)
    assert "Unable to establish a connection to any database host" in reason
    assert "a-secret" not in reason


async def test_an_extension_that_is_faulty_is_named(phorge: StandIn) -> None:
    phorge.add_extension("Broken.php", "<?php class {")
    assert "Broken.php" in await why_not(phorge)


async def test_an_installed_extension_of_this_version_is_used(phorge: StandIn) -> None:
    phorge.install_extensions()
    async with runners(phorge) as php:
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS


async def test_an_installed_extension_of_another_version_is_named_with_what_to_do(phorge: StandIn) -> None:
    phorge.install_extensions()
    installed = phorge.root / "src" / "extensions" / "GorgeWorkerFollowups.php"
    installed.write_text(installed.read_text() + "\n// An older version.\n")
    assert await why_not(phorge) == (
        f"PHP does not start: {installed} is of another version of gorge-worker: run "
        '"gorge-worker phorge install" for this Phorge, or "gorge-worker phorge uninstall" if nothing calls'
        " worker.execute."
    )


async def test_a_php_that_never_becomes_ready_is_given_up(
    phorge: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "START_TIMEOUT", 0.2)
    binary = tmp_path / "php"
    binary.write_text("#!/bin/sh\nsleep 600\n")
    binary.chmod(0o755)
    assert await why_not(phorge, php=str(binary)) == "PHP is not ready after 0.2 s"


async def test_what_php_said_is_in_the_log_in_full(phorge: StandIn) -> None:
    phorge.configure()
    phorge.configuration.write_text("{no")
    with capture_logs() as logs:
        await why_not(phorge)
    outputs = [line["output"] for line in logs if line["event"] == "php printed while it started"]
    assert len(outputs) == 2
    assert all("is not valid JSON" in output for output in outputs)


async def test_a_missing_temporary_folder_is_named(phorge: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert (await why_not(phorge)).startswith("can't make a folder for pipes in /nowhere: ")


async def test_pipes_whose_folder_was_cleaned_away_are_made_anew(phorge: StandIn) -> None:
    async with runners(phorge, max_tasks=1) as php:
        await php.pool.execute(task())
        assert php.pool._folder is not None
        shutil.rmtree(php.pool._folder)
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS
