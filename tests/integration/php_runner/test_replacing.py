"""How many PHP processes there are, and when one is replaced or let go."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from shutil import copytree

import pytest
from structlog.testing import capture_logs
from support import mariadb
from support.phorge_tree import StandIn
from support.runners import Runners, runners, task
from support.waiting import until

from gorge_worker.errors import BackendUnavailable
from gorge_worker.model import Verdict

pytestmark = pytest.mark.needs("php")

LIMITS = Path(__file__).parents[3] / "src/gorge_worker/phorge/runner/GorgeWorkerRunnerLimits.php"


async def executed(php: Runners, times: int) -> int:
    """How many processes so many tasks took."""
    for _ in range(times):
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS
    return len(php.started)


async def test_nothing_is_started_before_there_is_a_task(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        assert php.started == []


async def test_there_are_no_more_processes_than_tasks_at_once(phorge: StandIn, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with runners(phorge) as php:
        outcomes = await asyncio.gather(*(php.pool.execute(task(log=str(log))) for _ in range(3)))
        assert [one.verdict for one in outcomes] == [Verdict.SUCCESS] * 3
        assert await executed(php, 5) <= 3


async def test_tasks_beyond_the_most_processes_wait_for_one(phorge: StandIn) -> None:
    async with runners(phorge, most=2) as php:
        outcomes = await asyncio.gather(*(php.pool.execute(task()) for _ in range(20)))
        assert [one.verdict for one in outcomes] == [Verdict.SUCCESS] * 20
        assert len(php.started) == 2


async def test_who_is_cancelled_while_waiting_for_a_process_takes_none(phorge: StandIn) -> None:
    async with runners(phorge, most=1) as php:
        hanging = asyncio.create_task(php.pool.execute(task("Hang")))
        await until(lambda: php.started)
        waiting = asyncio.create_task(php.pool.execute(task()))
        await asyncio.sleep(0)
        for execution in (waiting, hanging):
            execution.cancel()
            with pytest.raises(asyncio.CancelledError):
                await execution
        assert await executed(php, 1) == 2


async def test_php_is_replaced_after_so_many_tasks(phorge: StandIn) -> None:
    async with runners(phorge, max_tasks=3) as php:
        assert await executed(php, 3) == 1
        assert await executed(php, 3) == 2
        await until(lambda: php.alive in ([], php.started[-1:]))


async def test_php_is_replaced_when_a_task_has_made_it_too_large(phorge: StandIn) -> None:
    async with runners(phorge, max_rss_mb=64) as php:
        with capture_logs() as logs:
            assert await executed(php, 2) == 1
            await php.pool.execute(task("TakeMemory", bytes=80 << 20))
            assert await executed(php, 1) == 2
    assert [line["reason"] for line in logs if line["event"] == "php is replaced"] == ["memory"]


async def test_php_is_replaced_when_phorges_configuration_has_changed(
    phorge: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _look_at_once(monkeypatch, tmp_path)
    phorge.configure(stand_in__tokens={})
    os.utime(phorge.root / "src" / "extensions", (1, 1))  # what changes within one second can't be told apart
    async with runners(phorge) as php:
        assert await executed(php, 2) == 1
        os.utime(phorge.configuration, (1, 1))
        assert await executed(php, 2) == 2, "the task that finds it is the old one's last"
        phorge.add_extension("New.php", "<?php\n")
        assert await executed(php, 2) == 3
        library = phorge.root / "src" / "__phutil_library_map__.php"
        os.utime(library, (1, 1))
        assert await executed(php, 2) == 4


@pytest.mark.needs("mariadbd", "mariadb-install-db")
@pytest.mark.xdist_group("mariadb")
async def test_php_is_replaced_when_an_option_was_changed_in_the_database(
    phorge: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _look_at_once(monkeypatch, tmp_path)
    phorge.use_database()
    async with runners(phorge) as php:
        assert await executed(php, 2) == 1
        mariadb.shared().execute("INSERT INTO config_transaction () VALUES ()", database=f"{phorge.namespace}_config")
        assert await executed(php, 2) == 2


async def test_idle_php_is_let_go(phorge: StandIn) -> None:
    async with runners(phorge, idle=0.05) as php:
        await executed(php, 1)
        await until(lambda: not php.alive)
        assert await executed(php, 1) == 2


@pytest.mark.needs("mariadbd", "mariadb-install-db")
@pytest.mark.limit(60)
async def test_php_that_has_lost_its_database_costs_its_task_a_failure_and_the_next_ones_wait(
    phorge: StandIn,
) -> None:
    with mariadb.own_server() as server:
        for name in ("config", "worker"):
            server.create_database(f"phabricator_{name}")
        phorge.configure(
            mysql__host="127.0.0.1", mysql__port=server.port, mysql__user=mariadb.USER, mysql__pass=mariadb.PASSWORD
        )
        async with runners(phorge) as php:
            assert (await php.pool.execute(task("Query"))).verdict is Verdict.SUCCESS
            server.kill()
            assert (await php.pool.execute(task("Query"))).verdict is Verdict.TEMPORARY_FAILURE
            for _ in range(2):
                with pytest.raises(BackendUnavailable, match="Unable to establish a connection to any database host"):
                    await php.pool.execute(task("Query"))
            server.start()
            assert (await php.pool.execute(task("Query"))).verdict is Verdict.SUCCESS


def _look_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Runs a copy of the runner that looks for changes after every task instead of every ten seconds."""
    copy = tmp_path / "shipped"
    copytree(LIMITS.parents[1], copy, ignore=lambda *_: ["__pycache__"])
    limits = copy / "runner" / LIMITS.name
    text = limits.read_text()
    assert "const CHECK_INTERVAL = 10;" in text
    limits.write_text(text.replace("const CHECK_INTERVAL = 10;", "const CHECK_INTERVAL = 0;"))
    monkeypatch.setattr("gorge_worker.backends.php_runner.launching.RUNNER_SCRIPT", copy / "runner" / "runner.php")
