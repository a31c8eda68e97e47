"""PHP's side, as the tests play it, does to the tables what Phorge's own code does."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest
from pymysql import err
from support import mariadb
from support.php_side import Php, Row

pytestmark = pytest.mark.needs(*mariadb.COMMANDS)

NewPhp = Callable[[], Php]


@pytest.fixture
def new_php(request: pytest.FixtureRequest) -> Iterator[NewPhp]:
    """Starts PHP processes, so to speak, on one database."""
    database = f"php_{random.Random(request.node.nodeid).getrandbits(60):x}_worker"
    server, started = mariadb.shared(), list[Php]()
    server.create_database(database)

    def start() -> Php:
        started.append(Php(server.connect(database)))
        return started[-1]

    start().create_tables()
    yield start
    for one in started:
        one.close()


@pytest.fixture
def php(new_php: NewPhp) -> Php:
    return new_php()


def active(php: Php, task_id: int) -> Row | None:
    return next(iter(php.rows("SELECT * FROM worker_activetask WHERE id = %s", task_id)), None)


def archived(php: Php, task_id: int) -> Row | None:
    return next(iter(php.rows("SELECT * FROM worker_archivetask WHERE id = %s", task_id)), None)


def ids(rows: list[Row]) -> list[int]:
    return [row["id"] for row in rows]


def let_expire(php: Php, task_id: int, seconds: int = 1) -> None:
    php.run("UPDATE worker_activetask SET leaseExpires = UNIX_TIMESTAMP() - %s WHERE id = %s", seconds, task_id)


def server_time(php: Php) -> int:
    return int(php.rows("SELECT UNIX_TIMESTAMP() AS now")[0]["now"])


def test_ids_come_from_the_counter_one_after_the_other(php: Php, new_php: NewPhp) -> None:
    other = new_php()
    assert [php.enqueue("A"), other.enqueue("A"), php.enqueue("A")] == [1, 2, 3]
    assert php.rows("SELECT * FROM lisk_counter") == [{"counterName": "worker_activetask", "counterValue": 3}]


def test_an_enqueuing_that_fails_leaves_nothing_and_holds_nothing(php: Php, new_php: NewPhp) -> None:
    with pytest.raises(err.DataError):
        php.enqueue("A" * 65)
    assert new_php().enqueue("A") == 1
    assert php.rows("SELECT COUNT(*) AS number FROM worker_taskdata") == [{"number": 1}]


def test_new_tasks_go_by_priority_then_id_and_their_delay_does_not_count(php: Php) -> None:
    later = server_time(php) + 999
    for priority in (2000, 1000, 2000):
        php.enqueue("A", priority=priority, leaseExpires=later)
    assert [ids(php.lease()) for _ in range(4)] == [[2], [1], [3], []]


def test_expired_leases_come_behind_new_tasks_the_oldest_first(php: Php) -> None:
    for _ in range(3):
        php.enqueue("A")
    php.lease(2)
    let_expire(php, 1, seconds=5)
    let_expire(php, 2, seconds=9)
    assert [ids(php.lease()) for _ in range(4)] == [[3], [2], [1], []]


def test_a_lease_is_two_hours_of_the_servers_time_under_a_name_of_its_own(php: Php) -> None:
    for _ in range(2):
        php.enqueue("A", "[1]")
    before = server_time(php)
    [one], [other] = php.lease(), php.lease()
    assert before <= one["leaseExpires"] - 7200 <= server_time(php)
    assert one["leaseOwner"] != other["leaseOwner"]
    assert len(one["leaseOwner"].split(":")) == 4
    assert one["_taskData"] == "[1]"


@pytest.mark.parametrize("phase", ["new", "expired"])
def test_what_another_takes_between_looking_and_taking_is_not_taken(
    phase: str, php: Php, new_php: NewPhp, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id, other, take, taken = php.enqueue("A"), new_php(), php._take, list[Row]()
    if phase == "expired":
        php.lease()
        let_expire(php, task_id)

    def take_second(owner: str, condition: str, *values: object) -> int:
        taken.extend(other.lease())
        return take(owner, condition, *values)

    monkeypatch.setattr(php, "_take", take_second)
    assert php.lease() == []
    assert ids(taken) == [task_id]
    row = active(php, task_id)
    assert row is not None
    assert row["leaseOwner"] == taken[0]["leaseOwner"]


def test_a_taskmaster_executes_until_there_is_nothing_and_archives_what_ended(php: Php) -> None:
    for name in ("Good", "Bad", "Busy"):
        php.enqueue(name, objectPHID="PHID-X", containerPHID="PHID-Y")
    outcomes = {"Good": "success", "Bad": "failure", "Busy": "retry"}
    assert php.work(lambda task: outcomes[task["taskClass"]]) == 3
    good, bad = archived(php, 1), archived(php, 2)
    assert good is not None
    assert bad is not None
    assert (good["result"], good["duration"], good["failureCount"], good["objectPHID"]) == (0, 1234, 0, b"PHID-X")
    assert (bad["result"], bad["duration"], bad["failureCount"], bad["containerPHID"]) == (1, 0, 0, b"PHID-Y")
    assert [active(php, 1), active(php, 2)] == [None, None]


def test_a_failed_task_keeps_its_owner_so_that_its_wait_counts(php: Php) -> None:
    php.enqueue("A")
    [task] = php.lease()
    php.retry_later(task)
    row = php.load(1)
    assert (row["leaseOwner"], row["failureCount"]) == (task["leaseOwner"], 1)
    assert row["leaseExpires"] - row["failureTime"] == 300
    assert php.lease() == []


def test_a_task_that_yields_is_away_for_five_seconds_at_least(php: Php) -> None:
    php.enqueue("A")
    [task] = php.lease()
    php.yield_for(task, 1)
    row = php.load(1)
    assert (row["leaseOwner"], row["failureCount"]) == ("(yield)", 0)
    assert row["leaseExpires"] - task["_serverTime"] == 5


def test_a_row_is_written_back_whole_whatever_has_happened_to_it(php: Php, new_php: NewPhp) -> None:
    php.enqueue("A")
    [task] = php.lease()
    new_php().prioritise(1, 7)
    php.retry_later(task)
    assert php.load(1)["priority"] == 2000


def test_a_task_that_is_archived_already_breaks_the_process_and_nothing_else(php: Php, new_php: NewPhp) -> None:
    php.enqueue("A")
    [task] = php.lease()
    new_php().cancel(1)
    with pytest.raises(err.IntegrityError):
        php.succeed(task)
    row = archived(new_php(), 1)
    assert row is not None
    assert (row["result"], row["leaseOwner"]) == (2, None)


def test_freeing_makes_a_leased_task_new(php: Php) -> None:
    php.enqueue("A")
    php.lease()
    php.free(1)
    assert ids(php.lease()) == [1]


def test_delaying_changes_only_a_task_that_nobody_holds(php: Php) -> None:
    for _ in range(2):
        php.enqueue("A")
    [held] = php.lease()
    for task_id in (1, 2):
        php.delay(task_id, 77)
    assert (php.load(1)["leaseExpires"], php.load(2)["leaseExpires"]) == (held["leaseExpires"], 77)


def test_retrying_makes_an_archived_task_new_with_its_data(php: Php) -> None:
    php.enqueue("A", "[1]")
    [task] = php.lease()
    php.retry_later(task)
    php.cancel(1)
    php.retry(1)
    assert archived(php, 1) is None
    row = php.load(1)
    assert (row["leaseOwner"], row["leaseExpires"], row["failureCount"], row["failureTime"]) == (None, 0, 0, None)
    assert [one["_taskData"] for one in php.lease()] == ["[1]"]


def test_restarting_the_daemons_ends_every_lease_and_every_wait(php: Php) -> None:
    for _ in range(3):
        php.enqueue("A")
    one, other = php.lease(2)
    php.retry_later(one)
    php.yield_for(other, 999)
    assert php.restart_daemons() == 2
    assert php.load(3)["leaseExpires"] is None
    assert max(php.load(task_id)["leaseExpires"] for task_id in (1, 2)) <= server_time(php)


def test_what_is_written_carries_the_time_of_writing(php: Php) -> None:
    php.enqueue("A")
    php.run("UPDATE worker_activetask SET dateModified = 1, dateCreated = 1")
    php.prioritise(1, 5)
    row = php.load(1)
    assert (row["dateCreated"], abs(row["dateModified"] - time.time()) < 60) == (1, True)
