"""A worker with PHP processes of its own, as an administrator has it: started, drained, killed, and misconfigured."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support import mariadb
from support.groups import members
from support.phorge_tree import StandIn
from support.process import UP, WORKER_TOKEN, Lab, Service
from support.waiting import until

from gorge_worker.queues.mysql.schema import CREATE

pytestmark = [pytest.mark.needs("php"), pytest.mark.limit(60)]


@pytest.fixture
def phorge(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "host")


def lab_in(folder: Path) -> Lab:
    """Beside the Phorge, whose folder it must not be."""
    (folder / "lab").mkdir()
    return Lab(folder / "lab")


async def enqueue(lab: Lab, do: str, **data: Any) -> int:
    return await lab.enqueue("StandInWorker", data=json.dumps({"do": do, **data}))


def pipes(folder: Path) -> list[Path]:
    return list(folder.glob("gorge-worker-*"))


def started(service: Service) -> list[int]:
    return [line["pid"] for line in service.events("php started")]


async def test_all_classes_are_executed_and_said_to_be(phorge: StandIn, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root))
        await worker.logged("PHP is ready", backend="php-runner")
        for _ in range(20):
            await enqueue(lab, "Nothing", log=str(log))
        await lab.archived(20)
        assert len(log.read_text().split()) == 20
        stats = await lab.call("GET", "stats")
        assert stats.data()["failedCount"] == 0
        assert await worker.terminate() == 0
        assert not [pid for pid in started(worker) if members(pid)]


async def test_supported_names_what_has_a_handler_of_its_own_and_then_all(phorge: StandIn, tmp_path: Path) -> None:
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root), NOOP_CLASSES="AWorker", HANDLERS="")
        address = (await worker.logged("listening"))["address"]
        stats = lab._session.get(f"http://{address}/api/worker/stats", headers={"X-Service-Token": WORKER_TOKEN})
        async with stats as answer:
            assert (await answer.json())["data"]["supported"] == ["AWorker", "*"]


async def test_follow_up_tasks_are_committed_with_the_completion_on_phorges_own_tables(
    phorge: StandIn, tmp_path: Path
) -> None:
    queue = phorge.use_database()
    database = f"{phorge.namespace}_worker"
    server = mariadb.shared()
    for statement in CREATE[1:]:
        server.execute(statement, database=database)
    server.execute("INSERT INTO worker_taskdata (id, data) VALUES (7, %s)", ('{"do":"Queue"}',), database=database)
    server.execute("INSERT INTO lisk_counter VALUES ('worker_activetask', 7)", database=database)
    server.execute(
        "INSERT INTO worker_activetask (id, taskClass, failureCount, dataID, priority, dateCreated, dateModified)"
        " VALUES (7, 'StandInWorker', 0, 7, 2500, 1, 1)",
        database=database,
    )
    async with lab_in(tmp_path) as lab:
        worker = await lab.worker(
            queue, PHORGE_ROOT=str(phorge.root), TASK_QUEUE_TOKEN="", DELEGATE_CLASSES="StandInWorker", HANDLERS=""
        )
        await worker.logged("task executed", task=7, outcome="success")
        archive = "SELECT id, result, failureCount FROM worker_archivetask"
        await until(lambda: server.execute(archive, database=database) == ((7, 0, 0),), within=UP)
        rows = server.execute(
            "SELECT taskClass, priority, objectPHID, containerPHID FROM worker_activetask ORDER BY id",
            database=database,
        )
        assert rows == (
            ("NextWorker", 2500, None, None),
            ("OtherWorker", 4000, b"PHID-OBJ-1", b"PHID-CON-1"),
            ("LastWorker", 2000, None, None),
        )


async def test_a_worker_that_is_killed_takes_php_and_what_it_has_started_with_it(
    phorge: StandIn, tmp_path: Path
) -> None:
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root), TMPDIR=str(tmp_path))
        for _ in range(3):
            await enqueue(lab, "HangForGood")
        await until(lambda: sum(len(members(pid)) > 1 for pid in started(worker)) == 3, within=UP)
        assert pipes(tmp_path)
        await worker.kill()
        await until(lambda: not [pid for pid in started(worker) if members(pid)], within=UP)
        await until(lambda: not pipes(tmp_path), within=UP)


async def test_what_a_shutdown_has_to_cut_is_yielded_and_its_php_killed(phorge: StandIn, tmp_path: Path) -> None:
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root), DRAIN_TIMEOUT_SEC="1")
        task = await enqueue(lab, "HangForGood")
        await until(lambda: sum(len(members(pid)) > 1 for pid in started(worker)) == 1, within=UP)
        assert await worker.terminate() == 1
        assert not [pid for pid in started(worker) if members(pid)]
        row = await lab.task(task)
        assert (row["leaseOwner"], row["failureCount"]) == ("(yield)", 0)


async def test_a_running_task_finishes_before_the_worker_ends(phorge: StandIn, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root))
        await enqueue(lab, "Wait", log=str(log), until=str(tmp_path / "go"))
        await until(log.exists, within=UP)
        worker.signal(signal.SIGTERM)
        await worker.logged("draining")
        (tmp_path / "go").touch()
        assert await worker.code() == 0
        await lab.archived(1)


async def test_php_that_can_not_start_fails_no_task_and_is_tried_until_it_can(phorge: StandIn, tmp_path: Path) -> None:
    arcanist = phorge.root.parent / "arcanist"
    arcanist.rename(tmp_path / "elsewhere")
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root))
        told = await worker.logged("PHP can't execute tasks yet, they wait for it", backend="php-runner")
        assert "Phorge needs arcanist beside it" in told["reason"]
        tasks = [await enqueue(lab, "Nothing") for _ in range(6)]
        await worker.logged("backend paused, its tasks go back without a failure", backend="php-runner")
        assert [(await lab.task(task))["failureCount"] for task in tasks] == [0] * 6
        (tmp_path / "elsewhere").rename(arcanist)
        await lab.archived(6, within=30)
        assert (await lab.stats())["failedCount"] == 0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"PHORGE_ROOT": "phorge"}, "it takes an absolute path of a folder"),
        ({"PHP_BINARY": "./php"}, "it takes a command in PATH or an absolute path"),
        ({"RUNNER_USER": "nobody-of-that-name"}, "this system has no such user"),
        ({"RUNNER_MAX_TASKS": "0"}, "it takes a whole number from 1"),
    ],
)
async def test_settings_that_can_not_be_used_stop_the_start(
    phorge: StandIn, tmp_path: Path, settings: dict[str, str], reason: str
) -> None:
    async with lab_in(tmp_path) as lab:
        worker = await lab.start("run", **{"PHORGE_ROOT": str(phorge.root), **settings})
        assert await worker.code() == 2
        assert reason in worker.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can execute tasks as root")
async def test_tasks_that_are_executed_as_root_are_warned_of(phorge: StandIn, tmp_path: Path) -> None:
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root))
        await worker.logged("PHP executes tasks as root: set RUNNER_USER to Phorge's daemon user (phd.user)")


async def test_with_both_backends_set_php_of_its_own_executes(phorge: StandIn, tmp_path: Path) -> None:
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        worker = await lab.worker(PHORGE_ROOT=str(phorge.root), CONDUIT_URL="http://127.0.0.1:1")
        await worker.logged("CONDUIT_URL is not used, since PHORGE_ROOT is set")
        await enqueue(lab, "Nothing")
        await lab.archived(1)


async def test_no_token_and_no_password_reaches_php(phorge: StandIn, tmp_path: Path) -> None:
    file = tmp_path / "told"
    async with lab_in(tmp_path) as lab:
        await lab.queue()
        await lab.worker(PHORGE_ROOT=str(phorge.root), MYSQL_PASS="a-password-of-somebody", CONDUIT_TOKEN="a-token")
        await enqueue(lab, "Tell", file=str(file))
        await lab.archived(1)
    environment = json.loads(file.read_text())["environment"]
    assert set(environment) <= {"PATH", "HOME", "LANG", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD"}, environment
    assert environment["PATH"] == os.environ["PATH"]
