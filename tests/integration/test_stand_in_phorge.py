"""The stand-in for Phorge does what Phorge does, as far as the product's PHP files can notice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support import mariadb
from support.stand_in_phorge import StandIn, make_phorge

pytestmark = [pytest.mark.needs("php"), pytest.mark.limit(60)]
with_database = pytest.mark.needs(*mariadb.COMMANDS)

TOKEN = "api-stand-in"
AS_BOT: dict[str, Any] = {"stand-in.tokens": {TOKEN: "bot"}, "gorge-worker.callers": ["bot"]}
LEASE_FREE: dict[str, Any] = {**AS_BOT, "gorge-worker.require-lease": False}


@pytest.fixture
def phorge(tmp_path: Path) -> StandIn:
    return make_phorge(tmp_path)


@pytest.fixture
def stored(tmp_path: Path) -> StandIn:
    return make_phorge(tmp_path, mariadb.shared())


async def call(url: str, method: str, parameters: dict[str, object], token: str = TOKEN) -> dict[str, Any]:
    form = {"params": json.dumps({**parameters, "__conduit__": {"token": token}}), "output": "json"}
    async with aiohttp.ClientSession() as session, session.post(f"{url}/api/{method}", data=form) as answer:
        envelope: dict[str, Any] = await answer.json()
        return envelope


def test_a_script_needs_arcanist_beside_phorge(phorge: StandIn) -> None:
    shutil.rmtree(phorge.root.parent / "arcanist")
    ended = phorge.run("echo 'started';")
    assert ended.returncode == 1
    assert ended.stdout.startswith("FATAL ERROR: ")
    assert "arcanist" in ended.stdout


@pytest.mark.parametrize("content", ["{", "5", ""])
def test_a_malformed_configuration_ends_the_start(phorge: StandIn, content: str) -> None:
    phorge.local_file.write_text(content)
    ended = phorge.run("echo 'started';")
    assert ended.returncode == 255
    assert f'EXCEPTION: (Exception) Configuration file "{phorge.local_file}"' in ended.stderr


def test_a_php_that_is_too_old_is_told_so(phorge: StandIn) -> None:
    phorge.set_option("stand-in.minimum-php", "99.1")
    ended = phorge.run("echo 'started';")
    assert ended.returncode == 1
    assert "UPGRADE PHP: " in ended.stdout


def test_a_database_that_is_down_ends_the_start(phorge: StandIn) -> None:
    holder, port = mariadb.hold_port()
    with holder:
        phorge.set_option("mysql.port", str(port))
        ended = phorge.run("echo 'started';")
    assert ended.returncode == 255
    assert "EXCEPTION: (PhabricatorClusterStrandedException) " in ended.stderr


@pytest.mark.parametrize(
    "code",
    [
        "<?php final class A extends Phobject {",
        "<?php echo $undefined;",
        "<?php final class A extends GoneParent {}",
        "<?php throw new Exception('at once');",
    ],
)
def test_an_extension_with_any_fault_ends_the_start(phorge: StandIn, code: str) -> None:
    (phorge.root / "src/extensions/A.php").write_text(code)
    ended = phorge.run("echo 'started';")
    assert ended.returncode == 255
    assert "EXCEPTION: " in ended.stderr
    assert "started" not in ended.stdout


def test_the_options_of_an_extension_have_their_defaults(phorge: StandIn) -> None:
    phorge.install_extension()
    ended = phorge.run("var_dump(PhabricatorEnv::getEnvConfig('gorge-worker.require-lease'));")
    assert ended.stdout.strip() == "bool(true)"
    ended = phorge.run("PhabricatorEnv::getEnvConfig('gorge-worker.nothing');")
    assert "EXCEPTION: " in ended.stderr


def test_a_class_that_is_missing_throws_unless_one_only_asks(phorge: StandIn) -> None:
    assert phorge.run("var_dump(class_exists('Gone'));").stdout.strip() == "bool(false)"
    assert "(PhutilMissingSymbolException)" in phorge.run("new Gone();").stderr
    assert "(PhutilMissingSymbolException)" in phorge.run("is_subclass_of('Gone', 'PhabricatorWorker');").stderr


def test_json_and_properties_are_strict(phorge: StandIn) -> None:
    assert "(PhutilJSONParserException)" in phorge.run("phutil_json_decode('5');").stderr
    assert "EXCEPTION: " in phorge.run(r'phutil_json_encode("\xff");').stderr
    assert "(DomainException)" in phorge.run("PhutilServiceProfiler::getInstance()->other = 1;").stderr


def test_a_lock_is_taken_once(phorge: StandIn) -> None:
    lock = f"PhutilFileLock::newForPath('{phorge.root}/lock')->lock();"
    assert phorge.run(lock).returncode == 0
    assert phorge.run(f"{lock} PhutilLock::unlockAll(); {lock}").returncode == 0
    assert phorge.run(f"{lock} {lock}").returncode == 255


@with_database
def test_a_transaction_that_is_left_open_is_rolled_back_and_complained_about(stored: StandIn) -> None:
    ended = stored.run("""
        $task = new PhabricatorWorkerActiveTask();
        $task->openTransaction();
        $task->openTransaction();
        PhabricatorWorker::scheduleTask('StandInSucceedWorker', array());
        $task->saveTransaction();
        try {
            LiskDAO::closeAllConnections();
        } catch (Exception $ex) {
            echo 'complained';
        }
    """)
    assert (ended.returncode, ended.stdout) == (0, "complained"), ended.stderr
    with stored.database() as php:
        assert not php.rows("SELECT * FROM worker_activetask")


@with_database
def test_a_task_is_queued_in_phorge_s_tables(stored: StandIn) -> None:
    ended = stored.run("""
        foreach (array(5, array('key' => 9007199254740993)) as $data) {
            PhabricatorWorker::scheduleTask('StandInEchoWorker', $data, array('priority' => 7, 'objectPHID' => 'P'));
        }
        try {
            id(new PhabricatorWorkerActiveTask())->load(2)->makeEphemeral()->save();
        } catch (LiskEphemeralObjectException $ex) {
            echo 'ephemeral';
        }
    """)
    assert (ended.returncode, ended.stdout) == (0, "ephemeral"), ended.stderr
    with stored.database() as php:
        rows = php.rows("SELECT t.*, d.data FROM worker_activetask t JOIN worker_taskdata d ON d.id = t.dataID")
    assert [(row["id"], row["data"]) for row in rows] == [(1, "5"), (2, '{"key":9007199254740993}')]
    assert {(row["priority"], row["objectPHID"], row["failureCount"]) for row in rows} == {(7, b"P", 0)}


@with_database
def test_the_web_interface_s_configuration_outweighs_the_local_file(stored: StandIn) -> None:
    stored.set_in_database("stand-in.record", "elsewhere")
    assert stored.run("echo PhabricatorEnv::getEnvConfig('stand-in.record');").stdout == "elsewhere"


async def test_conduit_answers_as_phorge_does(tmp_path: Path) -> None:
    phorge = make_phorge(tmp_path, **AS_BOT)
    async with phorge.serving() as url:
        assert (await call(url, "user.whoami", {}))["result"] == {"userName": "bot"}

        wrong = await call(url, "user.whoami", {}, token="other")
        assert wrong == {
            "result": None,
            "error_code": "ERR-INVALID-AUTH",
            "error_info": 'API token "other" is not valid.',
        }
        gone = await call(url, "worker.execute", {})
        assert gone["error_info"] == 'Conduit API method "worker.execute" does not exist.'
        assert gone["error_code"] == "ERR-CONDUIT-CALL"

        phorge.install_extension()
        undeclared = await call(url, "worker.execute", {"taskID": 1, "x": 1, "y": 2}, token="other")
        assert undeclared["error_code"] == "ERR-CONDUIT-CALL"
        assert undeclared["error_info"] == ("API Method \"worker.execute\" does not define these parameters: 'x', 'y'.")
        async with aiohttp.ClientSession() as session, session.post(f"{url}/api/user.whoami", json={}) as answer:
            assert (answer.status, (await answer.json())["error_code"]) == (200, "ERR-CONDUIT-CORE")


async def test_the_product_s_method_executes_a_task(tmp_path: Path) -> None:
    phorge = make_phorge(tmp_path, **LEASE_FREE)
    phorge.install_extension()
    task = {"taskID": 41, "taskClass": "StandInEchoWorker", "data": "5", "failureCount": 2, "executionVersion": 1}
    async with phorge.serving() as url:
        answer = await call(url, "worker.execute", task)
    assert (answer["error_code"], answer["result"]["result"]) == (None, "success")
    [note] = phorge.executed()
    assert (note["task"], note["failureCount"], note["data"]) == (41, 2, "NQ==")


async def test_a_task_that_ends_php_leaves_no_answer_of_conduit(tmp_path: Path) -> None:
    phorge = make_phorge(tmp_path, **LEASE_FREE)
    phorge.install_extension()
    async with phorge.serving() as url, aiohttp.ClientSession() as session:
        for task_class, status in (("StandInExitWorker", 200), ("StandInFatalWorker", 500)):
            task = {"taskID": 1, "taskClass": task_class, "data": "{}", "__conduit__": {"token": TOKEN}}
            async with session.post(f"{url}/api/worker.execute", data={"params": json.dumps(task)}) as answer:
                assert answer.status == status
                assert "result" not in await answer.text()
