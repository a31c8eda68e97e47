"""A database that is away, hangs, dies in the middle of its work, or was given wrong: nothing lost, nothing doubled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import get_ident
from typing import Any
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from structlog.testing import capture_logs
from support import mariadb
from support.mariadb import MariaDb
from support.memory_queue import CLASS, FakeHandler
from support.waiting import until, until_true

from gorge_worker.clock import SystemClock
from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.worker import Worker
from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.local import LocalQueue
from gorge_worker.queues.mysql import connecting, database, leasing
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import Receipt, Report
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import BadTask, StoreError, StoreLease
from gorge_worker.registry import Registry

pytestmark = [pytest.mark.needs(*mariadb.COMMANDS), pytest.mark.limit(120)]

TASKS = 600


@pytest.fixture
def server() -> Iterator[MariaDb]:
    with mariadb.own_server() as server:
        yield server


async def open_store(url: str, *, create: bool = True) -> MysqlStore:
    return await MysqlStore.open(mysql_address(url), retry_wait=300, rng=random.Random(1), create_schema=create)


@contextlib.asynccontextmanager
async def opened(url: str, *, create: bool = True) -> AsyncIterator[MysqlStore]:
    store = await open_store(url, create=create)
    try:
        yield store
    finally:
        await store.close()


async def works(store: MysqlStore) -> bool:
    try:
        await store.stats()
    except StoreError:
        return False
    return True


@contextlib.asynccontextmanager
async def worker_on(url: str, handler: FakeHandler, seed: int, lease_duration: int) -> AsyncIterator[None]:
    rng, clock, registry = random.Random(seed), SystemClock(), Registry()
    registry.register(CLASS, handler)
    async with opened(url) as store:
        service = QueueService(store, lease_duration=lease_duration, clock=clock, rng=rng)
        queue = LocalQueue(service, OwnerNames(clock, rng), clock=clock, lease_duration=lease_duration)
        options = EngineOptions(max_workers=8, lease_limit=8, poll_interval=0.1)
        worker = Worker(queue=queue, registry=registry, options=options, clock=clock, rng=rng, hide_secrets=str)
        run = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.drain()
            await run
            await service.settled()


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_server_that_is_killed_under_load_loses_nothing_and_doubles_nothing(seed: int, server: MariaDb) -> None:
    url = server.create_database("tasks_worker")
    rng = random.Random(seed)
    executed: Counter[tuple[int, str, int]] = Counter()

    async def execute(lease: Lease) -> Outcome:
        executed[lease.task.id, lease.owner, lease.task.failure_count] += 1
        await asyncio.sleep(rng.choice([0, 0, 0.02]))
        return Outcome.success((NewTask(task_class="Child", data=str(lease.task.id)),))

    async with opened(url) as store:
        ids = [task.id for task in await store.enqueue([NewTask(task_class=CLASS)] * TASKS)]
        handlers = [FakeHandler(execute), FakeHandler(execute)]
        async with (
            worker_on(url, handlers[0], seed, lease_duration=12),
            worker_on(url, handlers[1], seed + 10, lease_duration=12),
        ):
            for _ in range(3):
                await asyncio.sleep(rng.uniform(0.05, 0.3))
                await asyncio.to_thread(server.restart)

            async def done() -> bool:
                with contextlib.suppress(StoreError):
                    return (await store.stats()).archived == TASKS
                return False

            await until_true(done, within=90)
        children = [task.data for task in await store.lease(StoreLease(owner="me", limit=2 * TASKS, duration=60))]
        assert Counter(children) == {str(task_id): 1 for task_id in ids}, "each finished once, with its follow-up"
        assert set(executed.values()) == {1}, "nothing is executed twice under one lease"
        assert {task_id for task_id, _, _ in executed} == set(ids)
        left = await store.active_tasks(limit=5000, offset=0)
        assert {task.task_class for task in left} == {"Child"}


async def test_what_was_acknowledged_survives_the_servers_death(server: MariaDb) -> None:
    async with opened(server.create_database("tasks_worker")) as store:
        acknowledged: list[int] = []

        async def add() -> None:
            while True:
                try:
                    acknowledged.extend([task.id for task in await store.enqueue([NewTask(task_class="A")] * 3)])
                except StoreError:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(add())
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.kill)
        assert acknowledged
        await asyncio.to_thread(server.start)
        await until_true(lambda: works(store))
        tasks = {task.id for task in await store.active_tasks(limit=100_000, offset=0)}
        assert set(acknowledged) <= tasks
        assert len(tasks) % 3 == 0, "all of a call or none"
        fresh = await store.enqueue([NewTask(task_class="A")])
        assert fresh[0].id > max(tasks)


async def test_a_lease_whose_commit_was_not_answered_is_taken_back(
    server: MariaDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit happens, and the connection is gone before its answer is read."""
    async with opened(server.create_database("tasks_worker")) as store:
        [task] = await store.enqueue([NewTask(task_class="A")])
        execute, take, leasing_thread = database._execute, leasing._take, 0

        def note_thread(*arguments: Any) -> list[Task]:
            nonlocal leasing_thread
            leasing_thread = get_ident()
            return take(*arguments)

        def lose_answer(connection: Any, statement: str) -> None:
            nonlocal leasing_thread
            execute(connection, statement)
            if statement == "COMMIT" and leasing_thread == get_ident():
                leasing_thread = -1
                raise ConnectionResetError("the answer is lost")

        def take_once(*arguments: Any) -> list[Task]:
            return note_thread(*arguments) if leasing_thread == 0 else take(*arguments)

        monkeypatch.setattr(leasing, "_take", take_once)
        monkeypatch.setattr(database, "_execute", lose_answer)
        with pytest.raises(StoreError, match="answer is lost"):
            await store.lease(StoreLease(owner="nobody", limit=1, duration=7200))
        assert (await store.task(task.id)).lease_owner == "nobody"
        [again] = await store.lease(StoreLease(owner="me", limit=1, duration=300))
        assert (again.id, again.lease_owner) == (task.id, "me")


async def test_a_server_that_hangs_is_given_up_and_found_again(
    server: MariaDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "ANSWER_TIMEOUT", 0.5)
    async with opened(server.create_database("tasks_worker")) as store:
        await store.enqueue([NewTask(task_class="A")])
        server.signal(signal.SIGSTOP)
        try:
            with pytest.raises(StoreError, match=r"timed out|Lost connection"):
                await store.enqueue([NewTask(task_class="A")])
        finally:
            server.signal(signal.SIGCONT)
        await until_true(lambda: works(store))
        assert len(await store.lease(StoreLease(owner="me", limit=9, duration=60))) >= 1


def unread_bytes(port: int) -> int:
    """What was sent to a port of this machine and not read there."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1].endswith(f":{port:04X}"))


async def test_a_process_ends_although_the_database_hangs(server: MariaDb) -> None:
    url = server.create_database("tasks_worker")
    async with opened(url) as store:
        await store.enqueue([NewTask(task_class="A")])
    environment = {**os.environ, "TASK_QUEUE_URL": url, "LISTEN_ADDR": f"127.0.0.1:{mariadb.free_port()}"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gorge_worker", "run", env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        while b"connected to the database" not in await process.stderr.readline():
            pass
        server.signal(signal.SIGSTOP)
        # More than the goodbye of the connection that was closed above.
        await until(lambda: unread_bytes(server.port) > 16, what="a poll that the server does not read")
        process.terminate()
        async with asyncio.timeout(10):
            told = await process.stderr.read()
            assert await process.wait() == 0
        assert b"what it was asked for is left behind" in told
    finally:
        server.signal(signal.SIGCONT)
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_data_that_no_packet_takes_is_refused_alone() -> None:
    quotes, fits = '"' * 700_000, "x" * 1_000_000
    with mariadb.own_server(("--max-allowed-packet=1M",)) as server:
        async with opened(server.create_database("tasks_worker")) as store:
            for data in ("x" * 1_100_000, quotes):
                good = asyncio.create_task(store.enqueue([NewTask(task_class="A", data=fits)]))
                with pytest.raises(BadTask, match="max_allowed_packet is 1048576"):
                    await store.enqueue([NewTask(task_class="A"), NewTask(task_class="A", data=data)])
                assert len(await good) == 1
            await store.enqueue([NewTask(task_class="A", data="\\'🏞" * 60_000)] * 9)
            tasks = await store.lease(StoreLease(owner="me", limit=99, duration=60))
            assert sorted(len(task.data) for task in tasks) == [180_000] * 9 + [1_000_000] * 2
            lease = Lease(task=tasks[0], owner="me", expires=tasks[0].lease_expires or 0, ends_at=0.0)
            outcome = Outcome.success((NewTask(task_class="Child", data=quotes),))
            [result] = await store.report([Report(lease=lease, outcome=outcome, duration=1)])
            assert result.receipt is Receipt.REFUSED
            assert (await store.task(tasks[0].id)).lease_owner == "me"


async def test_idle_connections_that_the_server_has_closed_cost_no_call(server: MariaDb) -> None:
    async with opened(server.create_database("tasks_worker")) as store:
        await store.enqueue([NewTask(task_class="A")])
        for (number,) in server.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'gorge'"):
            server.execute(f"KILL {number}")
        assert len(await store.lease(StoreLease(owner="me", limit=1, duration=60))) == 1
        await asyncio.to_thread(server.restart)
        # The store's own housekeeping may have found the server away, which is then left alone for a moment.
        await until(lambda: time.monotonic() >= store._database._not_before)
        assert (await store.stats()).active == 1


async def test_a_server_that_takes_no_writes_any_more_is_left_for_the_one_that_does(server: MariaDb) -> None:
    """As after a failover: the address leads to another server, and the old one is read-only."""
    url = server.create_database("tasks_worker")
    async with opened(url) as store:
        await store.stats()
    server.execute("CREATE USER plain@127.0.0.1 IDENTIFIED BY 'plain'")
    server.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON tasks_worker.* TO plain@127.0.0.1")
    async with opened(f"mysql://plain:plain@127.0.0.1:{server.port}/tasks_worker") as store:
        await store.enqueue([NewTask(task_class="A")])
        server.execute("SET GLOBAL read_only = 1")
        with pytest.raises(StoreError, match="read-only"):
            await store.enqueue([NewTask(task_class="A")])
        assert store._database._idle == [], "the others are not trusted either"
        server.execute("SET GLOBAL read_only = 0")

        async def written() -> bool:
            with contextlib.suppress(StoreError):
                return bool(await store.enqueue([NewTask(task_class="B")]))
            return False

        await until_true(written)


WRONG = {
    "password": ("mysql://gorge:hunter2@127.0.0.1:{port}/tasks_worker", "check user and password"),
    "user": ("mysql://nobody:hunter2@127.0.0.1:{port}/tasks_worker", "check user and password"),
    "database": ("mysql://gorge:p%40ss%2Fw%3Ard@127.0.0.1:{port}/missing", "check the database's name"),
    "port": ("mysql://gorge:hunter2@127.0.0.1:1/tasks_worker", "check that the database server runs"),
    "host": ("mysql://gorge:hunter2@no-such-host.invalid/tasks_worker", "check that the database server runs"),
    "tables": ("mysql://gorge:p%40ss%2Fw%3Ard@127.0.0.1:{port}/other", "has no table .*worker_activetask"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_address_is_one_clear_line_and_is_tried_again(what: str) -> None:
    server = mariadb.shared()
    server.create_database("tasks_worker")
    server.create_database("other")
    server.execute("CREATE TABLE IF NOT EXISTS notes (id INT)", database="other")
    url, advice = WRONG[what]
    with capture_logs() as logs:
        async with opened(url.format(port=server.port)) as store:
            for _ in range(20):
                with pytest.raises(StoreError, match=advice) as raised:
                    await store.stats()
                assert "hunter2" not in str(raised.value)
                assert "p@ss" not in str(raised.value)
    lines = [line for line in logs if line["log_level"] in ("error", "warning")]
    assert len(lines) == 1, lines
    assert re.search(advice, lines[0]["reason"])
    assert "hunter2" not in str(lines)


async def test_a_database_that_comes_up_late_is_used_as_soon_as_it_is_there(server: MariaDb) -> None:
    url = server.create_database("tasks_worker")
    server.kill()
    with capture_logs() as logs:
        async with opened(url) as store:
            assert not await works(store)
            await asyncio.to_thread(server.start)
            await until_true(lambda: works(store))
            assert (await store.enqueue([NewTask(task_class="A")]))[0].id == 1
    assert [line["event"] for line in logs][-1] == "the database can be used again"


async def test_two_servers_create_the_tables_of_an_empty_database_at_the_same_time(server: MariaDb) -> None:
    url = server.create_database("tasks_worker")
    stores = [await open_store(url) for _ in range(4)]
    try:
        await asyncio.gather(*(store.enqueue([NewTask(task_class="A")]) for store in stores))
        assert [await store.supports_events() for store in stores] == [True] * 4
        assert (await stores[0].stats()).active == 4
    finally:
        for store in stores:
            await store.close()


async def test_a_database_with_anything_in_it_gets_no_tables(server: MariaDb) -> None:
    url = server.create_database("other_worker")
    server.execute("CREATE TABLE notes (id INT)", database="other_worker")
    async with opened(url) as store:
        with pytest.raises(StoreError, match="has no table"):
            await store.stats()
    assert server.execute("SHOW TABLES", database="other_worker") == (("notes",),)


async def test_a_socket_is_a_way_to_the_database(server: MariaDb) -> None:
    server.create_database("tasks_worker")
    async with opened(f"mysql://gorge@localhost/tasks_worker?unix_socket={server.socket}") as store:
        with pytest.raises(StoreError, match="check user and password"):
            await store.stats()
    address = mysql_address(f"mysql://gorge@/tasks_worker?unix_socket={server.socket}", token=mariadb.PASSWORD)
    store = await MysqlStore.open(address, retry_wait=300, rng=random.Random(1), create_schema=True)
    try:
        assert (await store.stats()).active == 0
    finally:
        await store.close()


@pytest.mark.parametrize("password", ["pässwört", "пароль", "峡谷🏞", 'it\'s \\ "quoted" %s'])
async def test_a_password_of_any_letters_is_sent_as_it_is(password: str) -> None:
    server = mariadb.shared()
    server.create_database("tasks_worker")
    name = f"user{abs(hash(password)) % 10**6}"
    server.execute(f"CREATE OR REPLACE USER {name}@127.0.0.1 IDENTIFIED BY %s", (password,))
    server.execute(f"GRANT ALL ON tasks_worker.* TO {name}@127.0.0.1")
    url = f"mysql://{name}:{quote(password, safe='')}@127.0.0.1:{server.port}/tasks_worker"
    async with opened(url) as store:
        assert (await store.stats()).active >= 0


async def test_tls_is_used_and_the_server_must_be_the_one_that_is_named(tmp_path: Path) -> None:
    authority, certificate, key = certificates(tmp_path, "127.0.0.1")
    other, _, _ = certificates(tmp_path / "other", "127.0.0.1")
    with mariadb.own_server((f"--ssl-cert={certificate}", f"--ssl-key={key}")) as server:
        url = server.create_database("tasks_worker")
        server.execute("ALTER USER 'gorge'@'127.0.0.1' REQUIRE SSL")
        async with opened(f"{url}?ssl_ca={authority}") as store:
            assert (await store.stats()).active == 0
        refused = {
            url: "Access denied",
            f"{url}?ssl_ca={other}": "certificate verify failed",
            f"{url}?ssl_ca={tmp_path}/missing.pem": r"missing\.pem can't be used",
            url.replace("127.0.0.1", "localhost")
            + f"?ssl_ca={authority}": "Hostname mismatch|not valid for 'localhost'",
        }
        for wrong, reason in refused.items():
            async with opened(wrong) as store:
                with pytest.raises(StoreError, match=reason):
                    await store.stats()


def certificates(folder: Path, host: str) -> tuple[Path, Path, Path]:
    """An authority, and a server's certificate and key, as files."""
    folder.mkdir(exist_ok=True)
    paths = folder / "authority.pem", folder / "server.pem", folder / "server.key"
    day, now = timedelta(days=1), datetime.now(UTC)
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority of {folder.name}")])
    for path, name, own_key, extension in (
        (paths[0], authority, authority_key, x509.BasicConstraints(ca=True, path_length=None)),
        (
            paths[1],
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]),
            server_key,
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]),
        ),
    ):
        built = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(authority)
            .public_key(own_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(extension, critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        path.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    plain = serialization.PrivateFormat.TraditionalOpenSSL
    paths[2].write_bytes(server_key.private_bytes(serialization.Encoding.PEM, plain, serialization.NoEncryption()))
    return paths
