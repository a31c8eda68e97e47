"""The Conduit method that the product brings for an unmodified Phorge, served by PHP itself."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support import mariadb
from support.phorge_tree import StandIn
from support.php_server import STRANGER, TOKEN, PhpServer, served

from gorge_worker.backends.conduit.backend import ConduitBackend
from gorge_worker.clock import SystemClock
from gorge_worker.errors import BackendUnavailable
from gorge_worker.http_client import HttpClient
from gorge_worker.model import Lease, Outcome, Task
from gorge_worker.queues.mysql.schema import CREATE

pytestmark = [pytest.mark.needs("php", "mariadbd", "mariadb-install-db"), pytest.mark.limit(40)]

OWNER = "4711:1:host:1"
CAPABILITIES = {"taskID": 0, "taskClass": "", "executionVersion": 1, "phase": "capabilities"}


class Method:
    """A Phorge with the method, and its queue."""

    def __init__(self, phorge: StandIn, server: PhpServer) -> None:
        self.phorge = phorge
        self.server = server

    def rows(self, statement: str, *values: object) -> Any:
        return mariadb.shared().execute(statement, values, database=f"{self.phorge.namespace}_worker")

    def queue(
        self,
        do: str,
        *,
        owner: str | None = OWNER,
        left: int = 300,
        task_class: str = "StandInWorker",
        **data: Any,
    ) -> dict[str, Any]:
        """Queues a task that is leased, and returns what names it in a call."""
        self.rows("INSERT INTO worker_taskdata (data) VALUES (%s)", json.dumps({"do": do, **data}))
        [[number]] = self.rows("SELECT MAX(id) FROM worker_taskdata")
        self.rows(
            "INSERT INTO worker_activetask (id, taskClass, leaseOwner, leaseExpires, failureCount, dataID, priority,"
            " dateCreated, dateModified) VALUES (%s, %s, %s, UNIX_TIMESTAMP() + %s, 1, %s, 2500, 1, 1)",
            *(number, task_class, owner, left, number),
        )
        return {"taskID": number, "taskClass": task_class, "leaseOwner": owner or ""}


@asynccontextmanager
async def method(tmp_path: Path, *, callers: tuple[str, ...] = ("bot",), **options: Any) -> AsyncIterator[Method]:
    phorge = StandIn(tmp_path / "host")
    phorge.install_extensions()
    phorge.use_database()
    for statement in CREATE[1:]:
        mariadb.shared().execute(statement, database=f"{phorge.namespace}_worker")
    counter = "INSERT INTO lisk_counter (counterName, counterValue) VALUES ('worker_activetask', 1000)"
    mariadb.shared().execute(counter, database=f"{phorge.namespace}_worker")
    phorge.configure(**{"gorge_worker__callers": list(callers), **options})
    async with served(phorge, tmp_path) as server:
        yield Method(phorge, server)


async def test_it_says_what_it_can_do_without_executing_anything(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        assert await one.server.result(**CAPABILITIES) == {"result": "capabilities", "executionVersion": 1}


async def test_nobody_may_call_it_at_first(tmp_path: Path) -> None:
    async with method(tmp_path, callers=()) as one:
        assert await one.server.refusal(**CAPABILITIES) == "ERR-WORKER-AUTH"


async def test_only_the_accounts_that_the_option_names_may_call_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with method(tmp_path) as one:
        task = one.queue("Nothing", log=str(log))
        for phase in ("capabilities", "prepare", "execute", "nonsense"):
            assert await one.server.refusal(token=STRANGER, phase=phase, **task) == "ERR-WORKER-AUTH"
        assert await one.server.refusal(token="wrong", **task) == "ERR-INVALID-AUTH"
    assert not log.exists()


async def test_a_task_is_executed_with_the_data_of_the_queue_and_not_of_the_caller(tmp_path: Path) -> None:
    file = tmp_path / "told"
    async with method(tmp_path) as one:
        task = one.queue("Tell", file=str(file))
        forged = {"data": '{"do":"Fail"}', "failureCount": 99, "priority": 1}
        result = await one.server.result(executionVersion=1, **task, **forged)
        assert (result["result"], result["followups"]) == ("success", [])
        [[left]] = one.rows("SELECT COUNT(*) FROM worker_activetask")
    told = json.loads(file.read_text())
    assert (int(told["failureCount"]), int(told["priority"])) == (1, 2500)
    assert left == 1, "the caller owns the row"


@pytest.mark.parametrize(
    ("row", "call"),
    [
        ({}, {"taskID": 999_999}),
        ({}, {"leaseOwner": "somebody else"}),
        ({}, {"leaseOwner": ""}),
        ({"owner": None}, {"leaseOwner": ""}),
        ({"owner": "(yield)"}, {}),
        ({"owner": "(retry)"}, {}),
        ({"left": 0}, {}),
        ({"left": -60}, {}),
        ({}, {"taskClass": "PhabricatorMetaMTAWorker"}),
    ],
    ids=["gone", "other", "none", "unleased", "yielded", "failed", "ends-now", "ended", "class"],
)
async def test_only_what_the_caller_has_leased_is_executed(
    tmp_path: Path, row: dict[str, Any], call: dict[str, Any]
) -> None:
    log = tmp_path / "log"
    async with method(tmp_path) as one:
        task = one.queue("Nothing", log=str(log), **row)
        for phase in ("prepare", "execute"):
            assert await one.server.refusal(executionVersion=1, phase=phase, **{**task, **call}) == "ERR-WORKER-LEASE"
    assert not log.exists()


async def test_a_caller_may_have_any_task_executed_where_the_option_says_so(tmp_path: Path) -> None:
    file = tmp_path / "told"
    async with method(tmp_path, gorge_worker__require_lease=False) as one:
        data = json.dumps({"do": "Tell", "file": str(file)})
        result = await one.server.result(taskID=7, taskClass="StandInWorker", data=data, failureCount=2, priority=1000)
    assert result["result"] == "success"
    told = json.loads(file.read_text())
    assert (told["id"], told["failureCount"], told["priority"]) == (7, 2, 1000)


@pytest.mark.parametrize(
    ("do", "data", "expected"),
    [
        ("Yield", {"seconds": 30}, {"result": "yield", "retry": 30}),
        ("FailForGood", {}, {"result": "permanent-failure", "failureReason": "never again"}),
        ("FailSilently", {}, {"result": "failure", "failureReason": "Exception", "retry": 30}),
        ("Error", {}, {"result": "failure", "failureReason": "a type error", "retry": 30}),
        ("Print", {"lines": 2000}, {"result": "success"}),
    ],
)
async def test_the_result_is_classified(
    tmp_path: Path, do: str, data: dict[str, Any], expected: dict[str, Any]
) -> None:
    async with method(tmp_path) as one:
        result = await one.server.result(executionVersion=1, **one.queue(do, **data))
    assert result.items() >= {**expected, "executionVersion": 1}.items()


async def test_what_a_task_prints_is_in_phps_log_and_not_in_the_answer(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        task = one.queue("Print", lines=3)
        assert (await one.server.result(executionVersion=1, **task))["result"] == "success"
        assert f"Task {task['taskID']} printed: ooo" in one.server.log


async def test_follow_up_tasks_are_returned_to_callers_that_commit_them(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        result = await one.server.result(executionVersion=1, phase="execute", **one.queue("Queue"))
        [[active]] = one.rows("SELECT COUNT(*) FROM worker_activetask")
    assert [(one["taskClass"], one["priority"]) for one in result["followups"]] == [
        ("NextWorker", 2500),
        ("OtherWorker", 4000),
        ("LastWorker", 2000),
    ]
    assert json.loads(result["followups"][0]["data"]) == {"key": 7714163963910349351}
    assert active == 1


async def test_follow_up_tasks_are_queued_for_callers_that_would_drop_them(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        result = await one.server.result(**one.queue("Queue"))
        rows = one.rows(
            "SELECT taskClass, priority, objectPHID, data FROM worker_activetask t JOIN worker_taskdata d"
            " ON d.id = t.dataID WHERE taskClass != 'StandInWorker' ORDER BY t.id"
        )
    assert result.get("followupCount") == 3, result
    assert [row[:3] for row in rows] == [
        ("NextWorker", 2500, None),
        ("OtherWorker", 4000, b"PHID-OBJ-1"),
        ("LastWorker", 2000, None),
    ]
    assert rows[0][3] == '{"key":7714163963910349351}'


async def test_of_follow_up_tasks_that_can_not_be_queued_none_is(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        result = await one.server.result(**one.queue("QueueHalf"))
        [[active]] = one.rows("SELECT COUNT(*) FROM worker_activetask")
    assert (result["result"], result["retry"]) == ("failure", 30)
    assert active == 1


@pytest.mark.parametrize(("data", "seconds"), [({}, None), ({"lease": 86_400}, 86_400)])
async def test_prepare_says_how_long_the_class_may_take(
    tmp_path: Path, data: dict[str, Any], seconds: int | None
) -> None:
    log = tmp_path / "log"
    async with method(tmp_path) as one:
        task = one.queue("Nothing", log=str(log), **data)
        result = await one.server.result(executionVersion=1, phase="prepare", **task)
    assert result == {"result": "prepared", "executionVersion": 1, "leaseDuration": seconds}
    assert not log.exists()


async def test_a_class_that_does_not_exist_fails_for_good_in_every_phase(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        task = one.queue("Nothing", task_class="NoSuchWorker")
        for phase in ("prepare", "execute"):
            result = await one.server.result(executionVersion=1, phase=phase, **task)
            assert result.items() >= {"result": "permanent-failure", "executionVersion": 1}.items()
            assert result["failureReason"] == 'Task class "NoSuchWorker" does not exist.'


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({"phase": "dance"}, "ERR-BAD-PHASE"),
        ({"taskClass": ""}, "ERR-NO-TASK-CLASS"),
        ({"executionVersion": 2}, "ERR-BAD-VERSION"),
        ({"executionVersion": "1"}, "ERR-BAD-VERSION"),
        ({"surprise": 1}, "ERR-CONDUIT-CALL"),
    ],
)
async def test_a_call_that_makes_no_sense_is_refused(tmp_path: Path, call: dict[str, Any], code: str) -> None:
    async with method(tmp_path) as one:
        assert await one.server.refusal(**{**one.queue("Nothing"), **call}) == code


@asynccontextmanager
async def backend(server: PhpServer, token: str = TOKEN) -> AsyncIterator[ConduitBackend]:
    http = HttpClient(server.url, headers={}, connections=2)
    try:
        yield ConduitBackend(http, token=token, encoding="form", timeout=None, clock=SystemClock())
    finally:
        await http.close()


def leased(called: dict[str, Any], **fields: Any) -> Lease:
    """The lease of a task that was queued."""
    task = Task(id=called["taskID"], task_class=called["taskClass"], data="forged", **fields)
    return Lease(task=task, owner=called["leaseOwner"], expires=int(time.time()) + 300, ends_at=1e9)


async def test_the_workers_own_backend_has_tasks_executed_within_their_classs_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with method(tmp_path) as one, backend(one.server) as conduit:
        await conduit.check()
        followed = await conduit.execute(leased(one.queue("Queue", log=str(log)), object_phid="PHID-OBJ-1"))
        hung = await conduit.execute(leased(one.queue("Hang", task_class="SlowWorker")))
    assert [task.task_class for task in followed.followups] == ["NextWorker", "OtherWorker", "LastWorker"]
    assert len(log.read_text().split()) == 1
    assert hung == Outcome.temporary_failure("time-out: not finished within 1 s, PHP may still be executing it")


async def test_the_workers_own_backend_says_what_is_missing(tmp_path: Path) -> None:
    async with method(tmp_path) as one:
        for token, reason in ((STRANGER, "ERR-WORKER-AUTH"), ("wrong", "ERR-INVALID-AUTH")):
            async with backend(one.server, token) as conduit:
                with pytest.raises(BackendUnavailable, match=reason):
                    await conduit.check()
        for file in (one.phorge.root / "src" / "extensions").glob("*.php"):
            file.unlink()
        async with backend(one.server) as conduit:
            with pytest.raises(BackendUnavailable, match="install it with `gorge-worker phorge install`"):
                await conduit.execute(leased(one.queue("Nothing")))
