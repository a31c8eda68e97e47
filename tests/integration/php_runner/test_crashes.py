"""A PHP process that dies, hangs or talks nonsense costs the task at hand one failure, and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.groups import members
from support.phorge_tree import StandIn
from support.runners import printed, runners, task
from support.waiting import until

from gorge_worker.backends.php_runner import pipes
from gorge_worker.model import Verdict

pytestmark = pytest.mark.needs("php")

WAIT = 30
"""The class's own, with one failure before this one."""


@pytest.mark.parametrize(
    ("do", "data", "reason"),
    [
        ("Exit", {}, "the task ended the PHP process: it called exit()"),
        ("RunOutOfMemory", {}, "the PHP process ended: Allowed memory size of 62914560 bytes exhausted"),
        ("Redeclare", {}, "the PHP process ended: Cannot redeclare id()"),
        ("Signal", {"signal": signal.SIGSEGV}, "the PHP process was ended by SIGSEGV"),
        ("Signal", {"signal": signal.SIGKILL}, "the PHP process was ended by SIGKILL"),
        ("Signal", {"signal": signal.SIGTERM}, "the PHP process was ended by SIGTERM"),
        ("Disturb", {}, "PHP sent a line that is no answer: 'no answer'"),
        ("Hang", {"lease": 1}, "time-out: not finished within 1 s, as long as its class allows"),
        ("HangForGood", {"lease": 1}, "time-out: not finished within 1 s, as long as its class allows"),
    ],
)
async def test_it_is_that_tasks_failure_with_the_reason(
    phorge: StandIn, do: str, data: dict[str, Any], reason: str
) -> None:
    async with runners(phorge) as php:
        neighbour = asyncio.create_task(php.pool.execute(task("Hang")))
        await until(lambda: php.started)
        outcome = await php.pool.execute(task(do, fields={"failure_count": 1}, **data))
        assert outcome.verdict is Verdict.TEMPORARY_FAILURE
        assert outcome.reason.startswith(reason)
        assert outcome.wait == WAIT
        assert not neighbour.done()
        neighbour.cancel()
        with pytest.raises(asyncio.CancelledError):
            await neighbour
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS
        assert php.alive == php.started[-1:]
    assert not php.alive


async def test_what_a_crashed_task_has_started_ends_with_it(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        await php.pool.execute(task("HangForGood", lease=1))
        assert not php.alive


async def test_what_a_task_has_left_running_on_purpose_is_left_when_php_is_replaced(
    phorge: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    async with runners(phorge, max_tasks=1) as php:
        await php.pool.execute(task("LeaveBehind", file=str(file)))
    left = int(file.read_text())
    os.kill(left, signal.SIGKILL)  # raises when it is not there


async def test_an_answer_without_end_is_cut_off(phorge: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "MAX_ANSWER", 1000)
    async with runners(phorge) as php:
        outcome = await php.pool.execute(task("Queue", do2="x"))
        assert outcome.verdict is Verdict.SUCCESS, "three follow-ups are shorter"
    monkeypatch.setattr(pipes, "MAX_ANSWER", 100)
    async with runners(phorge) as php:
        outcome = await php.pool.execute(task("Queue"))
    assert (outcome.verdict, outcome.reason) == (Verdict.TEMPORARY_FAILURE, "PHP sent an answer that is too long")


async def test_a_cancelled_execution_ends_php_and_all_that_it_has_started(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        execution = asyncio.create_task(php.pool.execute(task("HangForGood")))
        await until(lambda: php.started and len(members(php.started[0])) > 1)
        execution.cancel()
        with pytest.raises(asyncio.CancelledError):
            await execution
        await until(lambda: not php.alive)


async def test_php_that_was_killed_while_it_was_idle_costs_nobody_anything(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        await php.pool.execute(task())
        os.kill(php.started[0], signal.SIGKILL)
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS
        assert len(php.started) == 2


async def test_php_that_was_stopped_while_it_was_idle_is_that_tasks_time_out(
    phorge: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gorge_worker.backends.php_runner.execution.DEFAULT_DEADLINE", 0.5)
    async with runners(phorge) as php:
        await php.pool.execute(task())
        os.kill(php.started[0], signal.SIGSTOP)
        outcome = await php.pool.execute(task())
        assert outcome.verdict is Verdict.TEMPORARY_FAILURE
        assert not php.alive


async def test_a_limit_that_a_task_has_set_for_itself_does_not_end_the_next_one(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        for do in ("LimitTime", "Busy"):
            assert (await php.pool.execute(task(do))).verdict is Verdict.SUCCESS
    assert len(php.started) == 1


async def test_a_lock_that_a_task_has_left_does_not_stop_the_next_one(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        reasons = [(await php.pool.execute(task("LeaveLock"))).reason for _ in range(3)]
    assert reasons == ["left a lock"] * 3
    assert len(php.started) == 1


@pytest.mark.needs("mariadbd", "mariadb-install-db")
@pytest.mark.xdist_group("mariadb")
async def test_a_transaction_that_a_task_has_left_open_swallows_nothing_of_the_next_one(phorge: StandIn) -> None:
    phorge.use_database()
    async with runners(phorge) as php:
        with capture_logs() as logs:
            reasons = [(await php.pool.execute(task("LeaveTransaction"))).reason for _ in range(2)]
        assert (await php.pool.execute(task("Query"))).verdict is Verdict.SUCCESS
    assert reasons == ["left a transaction"] * 2
    assert "open transaction" in printed(logs)[0]
    assert len(php.started) == 3, "each was replaced"
