"""What becomes of a task, and what it is given, in a PHP of the worker's own."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from support.phorge_tree import StandIn
from support.runners import leased, printed, runners, task, told

from gorge_worker.backends.php_runner.output import KEPT
from gorge_worker.model import NewTask, Outcome, Task, Verdict

pytestmark = pytest.mark.needs("php")


async def test_a_task_is_executed_and_its_duration_is_known(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        outcome = await php.pool.execute(task())
    assert outcome.verdict is Verdict.SUCCESS
    assert outcome.duration is not None


async def test_one_process_executes_one_task_after_the_other(phorge: StandIn, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with runners(phorge) as php:
        for _ in range(5):
            await php.pool.execute(task(log=str(log)))
    assert log.read_text().split() == [str(php.started[0])] * 5
    assert len(php.started) == 1


DATA = [
    '{"key":7714163963910349351}',
    r'{"uri":"https:\/\/feed.example\/x?a=b&c=d+e%20f"}',
    '{"title":"Gorge 峡谷 — naïve 🏞\u2028"}',
    r'{"body":"a\u0000b\ud83c\udfde"}',
    '{"float":1.0,"empty":{},"list":[]}',
]


@pytest.mark.parametrize("data", DATA)
async def test_php_gets_the_data_as_it_would_read_it_from_its_own_queue(
    phorge: StandIn, tmp_path: Path, data: str
) -> None:
    file = tmp_path / "told"
    text = json.dumps({"do": "Tell", "file": str(file)})[:-1] + "," + data[1:]
    async with runners(phorge) as php:
        assert (await php.pool.execute(leased(Task(id=41, task_class="StandInWorker", data=text)))).verdict == "success"
    read = told(file)["data"]
    expected = json.loads(data)
    assert {name: read[name] for name in expected} == {
        name: ([] if value == {} else value) for name, value in expected.items()
    }


@pytest.mark.parametrize("data", ["5", '"text"', "null", "true", " 5\n", ""])
async def test_data_of_any_json_kind_is_accepted(phorge: StandIn, data: str) -> None:
    async with runners(phorge) as php:
        outcome = await php.pool.execute(leased(Task(id=41, task_class="StandInWorker", data=data)))
    assert outcome.verdict is Verdict.SUCCESS


async def test_data_that_is_no_json_can_never_be_executed(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        outcome = await php.pool.execute(leased(Task(id=41, task_class="StandInWorker", data="{no")))
    assert outcome == Outcome.permanent_failure("The data of the task is not JSON: Syntax error.")


async def test_the_worker_class_sees_the_task_as_phorges_own_daemon_would_show_it(
    phorge: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "told"
    fields = {"failure_count": 2, "priority": 2500, "object_phid": "PHID-OBJ-7"}
    async with runners(phorge) as php:
        await php.pool.execute(task("Tell", file=str(file), fields=fields))
    seen = told(file)
    assert [seen[name] for name in ("id", "failureCount", "priority", "objectPHID", "owner")] == [
        41,
        2,
        2500,
        "PHID-OBJ-7",
        "4711:1:host:1",
    ]
    assert seen["stdin"] == ""


async def test_five_megabytes_of_data_arrive(phorge: StandIn, tmp_path: Path) -> None:
    file = tmp_path / "told"
    body = 'plain text ä "' * 350_000
    async with runners(phorge) as php:
        await php.pool.execute(task("Tell", file=str(file), body=body))
    assert told(file)["data"]["body"] == body


@pytest.mark.parametrize(
    ("do", "data", "outcome"),
    [
        ("FailForGood", {}, Outcome.permanent_failure("never again")),
        ("Yield", {"seconds": 30}, Outcome.yielded(30)),
        ("Yield", {"seconds": 0}, Outcome.yielded(5)),
        ("Fail", {}, Outcome.temporary_failure("it failed: \ufffd", 15)),
        ("FailSilently", {}, Outcome.temporary_failure("Exception", 15)),
        ("Error", {}, Outcome.temporary_failure("a type error", 15)),
        ("Fail", {"wait": "throw"}, Outcome.temporary_failure("it failed: \ufffd", 300)),
    ],
)
async def test_what_a_task_throws_is_its_outcome(
    phorge: StandIn, do: str, data: dict[str, Any], outcome: Outcome
) -> None:
    async with runners(phorge) as php:
        assert await php.pool.execute(task(do, **data)) == outcome
        assert (await php.pool.execute(task())).verdict is Verdict.SUCCESS
    assert len(php.started) == 1


async def test_the_wait_is_the_classs_own_with_the_present_failure_counted(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        outcome = await php.pool.execute(task("Fail", fields={"failure_count": 2}))
    assert outcome.wait == 45


async def test_a_task_that_has_failed_too_often_fails_for_good_without_being_executed(
    phorge: StandIn, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with runners(phorge) as php:
        last = await php.pool.execute(task(log=str(log), fields={"failure_count": 3}))
        beyond = await php.pool.execute(task(log=str(log), fields={"failure_count": 4}))
    assert last.verdict is Verdict.SUCCESS
    assert beyond == Outcome.permanent_failure("Task 41 has failed 4 times, and its class allows 3 failures.")
    assert len(log.read_text().split()) == 1


@pytest.mark.parametrize(
    ("task_class", "reason"),
    [
        ("NoSuchWorker", 'Task class "NoSuchWorker" does not exist.'),
        ("PhabricatorUser", "Task class 'PhabricatorUser' does not extend PhabricatorWorker."),
    ],
)
async def test_a_class_that_is_none_fails_for_good(phorge: StandIn, task_class: str, reason: str) -> None:
    async with runners(phorge) as php:
        assert await php.pool.execute(task(task_class=task_class)) == Outcome.permanent_failure(reason)


async def test_follow_up_tasks_inherit_what_phorge_lets_them_inherit(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        outcome = await php.pool.execute(
            task("Queue", until=1_900_000_000, fields={"priority": 2500, "object_phid": "PHID-PARENT"})
        )
    assert outcome.followups == (
        NewTask(task_class="NextWorker", data='{"key":7714163963910349351}', priority=2500),
        NewTask(
            task_class="OtherWorker",
            data=r'{"uri":"http:\/\/x\/\u00e4"}',
            priority=4000,
            object_phid="PHID-OBJ-1",
            container_phid="PHID-CON-1",
            delay_until=1_900_000_000,
        ),
        NewTask(task_class="LastWorker", data="[]", priority=2000),
    )


async def test_a_follow_up_that_is_no_text_fails_its_parent_for_good(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        outcome = await php.pool.execute(task("QueueNoText"))
    assert outcome.verdict is Verdict.PERMANENT_FAILURE
    assert outcome.reason.startswith("executed, but its follow-up tasks can not be used: ")


async def test_megabytes_of_output_are_drained_and_change_nothing(phorge: StandIn) -> None:
    async with runners(phorge) as php:
        with capture_logs() as logs:
            outcome = await php.pool.execute(task("Print", lines=5000))
            await php.pool.execute(task())
    assert outcome.verdict is Verdict.SUCCESS
    [output] = printed(logs)
    assert len(output) == KEPT
    assert "to STDOUT" in output
    assert "to STDERR" in output
    [line] = [line for line in logs if line["event"] == "php printed" and "task" in line]
    assert line["dropped_bytes"] > 4 << 20
    assert (line["task"], line["task_class"]) == (41, "StandInWorker")


async def test_php_gets_nothing_of_the_workers_environment_that_it_does_not_need(
    phorge: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SERVICE_TOKEN", "TASK_QUEUE_URL", "GORGE_WORKER_CONDUIT_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("PHABRICATOR_ENV", "production")
    file = tmp_path / "told"
    async with runners(phorge) as php:
        await php.pool.execute(task("Tell", file=str(file)))
    environment = told(file)["environment"]
    assert "a-secret" not in environment.values()
    assert environment["PHABRICATOR_ENV"] == "production"


async def test_programs_that_tasks_start_get_no_end_of_the_protocol(phorge: StandIn, tmp_path: Path) -> None:
    file = tmp_path / "seen"
    async with runners(phorge) as php:
        await php.pool.execute(task("Start", file=str(file)))
    seen = file.read_text()
    assert "/proc/" in seen, "the listing shows itself"
    assert not [word for word in ("requests", "answers", "gorge-worker-", "TOKEN", "TASK_QUEUE") if word in seen], seen


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start PHP as another user")
@pytest.mark.needs("setpriv")
async def test_php_runs_as_the_chosen_user_with_that_users_groups(phorge: StandIn, tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    file = tmp_path / "told"
    file.touch()
    os.chown(file, nobody.pw_uid, nobody.pw_gid)
    for folder in (tmp_path, *tmp_path.parents[:-1]):  # pytest's folders are its user's alone
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    async with runners(phorge, user="nobody") as php:
        outcome = await php.pool.execute(task("Tell", file=str(file)))
        hung = await php.pool.execute(task("HangForGood", lease=1))
    assert outcome.verdict is Verdict.SUCCESS, outcome
    seen = told(file)
    assert (seen["user"], seen["groups"]) == (nobody.pw_uid, os.getgrouplist("nobody", nobody.pw_gid))
    assert (seen["environment"]["HOME"], seen["environment"]["USER"]) == (nobody.pw_dir, "nobody")
    assert hung.verdict is Verdict.TEMPORARY_FAILURE
    assert not php.alive
