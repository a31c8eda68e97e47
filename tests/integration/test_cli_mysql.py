"""The commands on a database: where its password comes from, who creates tables, how long leases last, what is said."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from support import mariadb
from support.command import run
from support.php_side import Php
from support.process import QUEUE_TOKEN, WORKER_TOKEN, Lab, Service, address
from support.waiting import until, until_true

pytestmark = [pytest.mark.needs(*mariadb.COMMANDS), pytest.mark.limit(60)]

WHOLE_PASSWORD = "p%40ss%2Fw%3Ard"
NOTHING = {"NOOP_CLASSES": "Nothing", "HANDLERS": ""}
TROUBLE = "the database can't be used, it is tried again"


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The name of an empty database."""
    name = f"cli_{random.Random(request.node.nodeid).getrandbits(60):x}_worker"
    mariadb.shared().create_database(name)
    return name


def url(database: str) -> str:
    """With the password."""
    return mariadb.shared().url(database)


def without_password(database: str) -> str:
    return url(database).replace(f":{WHOLE_PASSWORD}@", "@")


def tables(database: str) -> set[str]:
    return {str(name) for [name] in mariadb.shared().execute("SHOW TABLES", database=database)}


def shows_no_password(service: Service) -> bool:
    return not any(secret in service.text for secret in (WHOLE_PASSWORD, mariadb.PASSWORD))


async def start_queue(lab: Lab, store: str, *options: str, **settings: str) -> Service:
    own = {"QUEUE_LISTEN_ADDR": address(lab.queue_port), "SERVICE_TOKEN": QUEUE_TOKEN}
    service = await lab.start("queue", "--store", store, *options, **own, **settings)
    await service.logged("listening")
    return service


async def test_a_queue_server_and_a_worker_share_a_database(tmp_path: Path, database: str) -> None:
    async with Lab(tmp_path) as lab:
        queue = await start_queue(lab, without_password(database), "--create-schema", TASK_QUEUE_TOKEN=mariadb.PASSWORD)
        worker = await lab.worker(url(database), **NOTHING)
        settings = {"TASK_QUEUE_URL": lab.queue_url, "TASK_QUEUE_TOKEN": QUEUE_TOKEN}
        ended = await run("enqueue", "Nothing", "5", settings=settings)
        assert (ended.code, ended.err) == (0, "")
        await lab.archived(1)
        assert (await worker.logged("task executed"))["task"] == 1
        assert (await queue.logged("queue starts"))["store"] == without_password(database)
        for service in (worker, queue):
            assert await service.terminate() == 0
            assert shows_no_password(service)


async def test_the_token_is_the_password_of_a_workers_database_too(tmp_path: Path, database: str) -> None:
    php = Php(mariadb.shared().connect(database)).create_tables()
    php.enqueue("Nothing")
    async with Lab(tmp_path) as lab:
        worker = await lab.worker(without_password(database), TASK_QUEUE_TOKEN=mariadb.PASSWORD, **NOTHING)
        await worker.logged("task executed")
        await until(lambda: php.rows("SELECT id FROM worker_archivetask"), within=10)
        assert await worker.terminate() == 0
    php.close()


async def test_no_tables_are_created_unless_that_is_asked_for(tmp_path: Path, database: str) -> None:
    async with Lab(tmp_path) as lab:
        queue = await start_queue(lab, url(database))
        assert (await lab.call("GET", "stats")).status >= 500
        assert "has no table" in (await queue.logged(TROUBLE))["reason"]
        assert await queue.terminate() == 0
        assert tables(database) == set()
        queue = await start_queue(lab, url(database), "--create-schema")
        assert (await lab.stats())["activeCount"] == 0
        assert await queue.terminate() == 0
        assert "worker_activetask" in tables(database)


async def test_phorges_database_stays_as_it_is_even_when_tables_are_asked_for(tmp_path: Path, database: str) -> None:
    Php(mariadb.shared().connect(database)).create_tables().close()
    before = tables(database)
    async with Lab(tmp_path) as lab:
        queue = await start_queue(lab, url(database), "--create-schema")
        await lab.enqueue("Nothing")
        meta = (await lab.call("GET", "meta")).data()
        assert not meta["enqueueEvent"]
        assert await queue.terminate() == 0
    assert tables(database) == before


async def test_a_file_needs_no_schema_and_takes_the_option(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        await start_queue(lab, lab.store, "--create-schema")
        assert await lab.enqueue("Nothing") == 1


@pytest.mark.parametrize(("setting", "lasts"), [({}, (7200, 300)), ({"LEASE_DURATION": "77"}, (77, 77))])
@pytest.mark.parametrize("kind", ["mysql", "sqlite", "standalone"])
async def test_a_lease_lasts_longer_for_those_who_may_not_renew_it(
    kind: str, setting: dict[str, str], lasts: tuple[int, int], tmp_path: Path, database: str
) -> None:
    served, own = lasts
    async with Lab(tmp_path) as lab:
        if kind == "standalone":
            await lab.standalone(**setting)
        else:
            store = url(database) if kind == "mysql" else lab.store
            await start_queue(lab, store, "--create-schema", **setting)
            await lab.worker(store, **setting)
        running, other = await lab.enqueue("Waits"), await lab.enqueue("NotHandled")
        await lab.executing(running)
        answer = await lab.call("POST", "lease", json={"limit": 1})
        assert [one["id"] for one in answer.data()] == [other]
        assert await seconds_leased(lab, other) == served
        assert await seconds_leased(lab, running) == own
        assert (await lab.call("GET", "meta")).data()["leaseDuration"] == served
        lab.release()
        await until_true(lambda: is_archived(lab, running))


async def seconds_leased(lab: Lab, task_id: int) -> int:
    row = await lab.task(task_id)
    return int(row["leaseExpires"]) - int(row["dateModified"])


async def is_archived(lab: Lab, task_id: int) -> bool:
    return not await lab.task(task_id)


@pytest.mark.parametrize("command", ["run", "queue"])
async def test_a_database_that_is_away_stops_no_start(command: str, tmp_path: Path) -> None:
    """One line says why, and the end is an orderly one."""
    with mariadb.own_server() as server:
        store = server.create_database("tasks")
        await asyncio.to_thread(server.kill)
        async with Lab(tmp_path) as lab:
            starting = (
                start_queue(lab, store, "--create-schema") if command == "queue" else lab.worker(store, **NOTHING)
            )
            service = await starting
            if command == "queue":
                for _ in range(5):
                    assert (await lab.call("GET", "stats")).status >= 500
            assert "check that the database server runs" in (await service.logged(TROUBLE))["reason"]
            assert len(service.events(TROUBLE)) == 1
            assert await service.terminate() == 0
            assert shows_no_password(service)


@pytest.mark.parametrize(
    ("url", "shown", "reason"),
    [
        ("mysql://me:hunter2@db", "mysql://me:***@db", "it names no database"),
        ("mysql://me:hunter2@db/tasks?charset=latin1", "mysql://me:***@db/tasks?***", "unknown option 'charset'"),
        ("mariadb://me:hun/ter2@db/tasks", "mariadb://me:***@db/tasks", "not the URL of a database"),
        ("mysql://me:hunter2@db/tasks?ssl=perhaps", "mysql://me:***@db/tasks?ssl=perhaps", "it takes true or false"),
    ],
)
async def test_a_url_that_can_not_be_read_has_exit_code_2_and_a_reason(url: str, shown: str, reason: str) -> None:
    settings = {"TASK_QUEUE_URL": url, "SERVICE_TOKEN": WORKER_TOKEN}
    for ended in (await run("run", settings=settings), await run("queue", "--store", url)):
        assert (ended.code, ended.out) == (2, "")
        assert shown in ended.err
        assert reason in ended.err
        assert "ter2" not in ended.err


async def test_nothing_is_enqueued_into_a_database_directly(database: str) -> None:
    ended = await run("enqueue", "A", settings={"TASK_QUEUE_URL": url(database)})
    assert (ended.code, ended.out) == (2, "")
    assert "name the server that serves it with --queue" in " ".join(ended.err.split())
    assert WHOLE_PASSWORD not in ended.err
