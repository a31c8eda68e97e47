"""How long a lease of 100 tasks takes on MariaDB, with a thousand and with a million others in the queue.

Prints for each situation the median of its leases and its ratio to the plain queue of a thousand, measured in turn in
one run. A private server is started, and removed at the end.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.mariadb import DURABLE, MariaDb, own_server

from gorge_worker.model import Lease, NewTask, Outcome, Task
from gorge_worker.queues.mysql.connecting import connector
from gorge_worker.queues.mysql.store import MysqlStore
from gorge_worker.queues.mysql.url import mysql_address
from gorge_worker.queues.protocol import ANY, ClassFilter, Report
from gorge_worker.queues.store import StoreLease

LIMIT = 100
ROUNDS = 15
CLASSES = ("PhabricatorSearchWorker", "PhabricatorMetaMTAWorker", "FeedPublisherHTTPWorker", "HeraldWebhookWorker")
PAUSED = "PausedWorker"


class Situation(NamedTuple):
    """What is in the queue beside `queued` tasks of several classes, and what is leased."""

    name: str
    queued: int
    filter: ClassFilter = ANY
    paused: int = 0
    delayed: int = 0
    held: int = 0


SITUATIONS = (
    Situation("1,000 queued", 1_000),
    Situation("1,000,000 queued", 1_000_000),
    Situation("... leased by class", 1_000_000, ClassFilter(only=CLASSES)),
    Situation("... and 100,000 delayed by PHP in front", 1_000_000, delayed=100_000),
    Situation("... and 100,000 that wait for a retry", 1_000_000, held=100_000),
    Situation("... and 100,000 of a paused class in front", 1_000_000, ClassFilter(without=(PAUSED,)), paused=100_000),
    Situation("... the same, leased by class", 1_000_000, ClassFilter(only=CLASSES), paused=100_000),
)


def fill(server: MariaDb, database: str, situation: Situation) -> None:
    """Rows as Phorge would have them, made by the server itself."""
    classes = ", ".join(f"'{name}'" for name in CLASSES)
    first = 1
    for count, columns in (
        (situation.paused, f"'{PAUSED}', NULL, NULL, 1000"),
        (situation.delayed, f"ELT(1 + seq % {len(CLASSES)}, {classes}), NULL, UNIX_TIMESTAMP() + 86400, 1000"),
        (situation.held, f"ELT(1 + seq % {len(CLASSES)}, {classes}), '(retry)', UNIX_TIMESTAMP() + 86400, 1000"),
        (situation.queued, f"ELT(1 + seq % {len(CLASSES)}, {classes}), NULL, NULL, 1000 * (2 + seq % 3)"),
    ):
        if count:
            last = first + count - 1
            server.execute(
                "INSERT INTO worker_activetask (taskClass, leaseOwner, leaseExpires, priority, id, failureCount, "
                f"dataID, dateCreated, dateModified) SELECT {columns}, seq, 0, seq, 1, 1 FROM seq_{first}_to_{last}",
                database=database,
            )
            server.execute(
                f"INSERT INTO worker_taskdata (id, data) SELECT seq, '{{}}' FROM seq_{first}_to_{last}",
                database=database,
            )
            first = last + 1
    server.execute("INSERT INTO lisk_counter VALUES ('worker_activetask', %s)", (first,), database=database)
    server.execute("ANALYZE TABLE worker_activetask", database=database)


async def measure(stores: dict[str, MysqlStore]) -> dict[str, list[float]]:
    """Seconds of each lease, the situations in turn."""
    times: dict[str, list[float]] = {name: [] for name in stores}
    for turn in range(ROUNDS):
        for situation in SITUATIONS:
            store, began = stores[situation.name], time.perf_counter()
            wanted = StoreLease(owner=f"bench:{turn}", limit=LIMIT, duration=300, classes=situation.filter)
            while not (tasks := await store.lease(wanted)):  # a call passes over a bounded number of rows
                pass
            times[situation.name].append(time.perf_counter() - began)
            if len(tasks) != LIMIT:
                raise AssertionError(f"{situation.name}: {len(tasks)} tasks leased")
            await store.report([done(task) for task in tasks])
            await store.enqueue([NewTask(task_class=task.task_class, priority=task.priority) for task in tasks])
    return times


def done(task: Task) -> Report:
    lease = Lease(task=task, owner=task.lease_owner or "", expires=task.lease_expires or 0, ends_at=0.0)
    return Report(lease=lease, outcome=Outcome.success(), duration=1)


async def main() -> None:
    with own_server(DURABLE) as server:
        stores = {}
        for number, situation in enumerate(SITUATIONS):
            url = server.create_database(f"scale{number}")
            connect = connector(mysql_address(url))
            store = MysqlStore(connect, "the benchmark", retry_wait=300, rng=random.Random(1), create_schema=True)
            await store.stats()
            print(f"filling: {situation.name}", file=sys.stderr)
            fill(server, f"scale{number}", situation)
            stores[situation.name] = store
        times = await measure(stores)
        base = statistics.median(times[SITUATIONS[0].name])
        print(f"{'lease of 100':44} {'median ms':>10} {'ratio':>6} {'first ms':>10}")
        for name, taken in times.items():
            median = statistics.median(taken)
            print(f"{name:44} {median * 1000:10.2f} {median / base:6.2f} {taken[0] * 1000:10.2f}")
        for store in stores.values():
            await store.close()


if __name__ == "__main__":
    asyncio.run(main())
