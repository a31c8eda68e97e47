"""PHP's side of Phorge's tables: a taskmaster, `bin/worker` and `phd`, as statements that Phorge's own code amounts to.

Written for tests, without PHP: what matters is which rows are read and written when, and under which conditions. PHP
writes all columns of a row that it has loaded back, whatever has happened to the row in between.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, cast

from pymysql.connections import Connection
from pymysql.cursors import DictCursor

TABLES = (
    """CREATE TABLE worker_activetask (id int(10) unsigned NOT NULL, taskClass varchar(64) NOT NULL,
        leaseOwner varchar(64) DEFAULT NULL, leaseExpires int(10) unsigned DEFAULT NULL,
        failureCount int(10) unsigned NOT NULL, dataID int(10) unsigned NOT NULL,
        failureTime int(10) unsigned DEFAULT NULL, priority int(10) unsigned NOT NULL,
        objectPHID varbinary(64) DEFAULT NULL, containerPHID varbinary(64) DEFAULT NULL,
        dateCreated int(10) unsigned NOT NULL, dateModified int(10) unsigned NOT NULL, PRIMARY KEY (id),
        KEY leaseExpires (leaseExpires), KEY key_failuretime (failureTime), KEY taskClass (taskClass),
        KEY key_owner (leaseOwner, priority, id), KEY key_object (objectPHID), KEY key_container (containerPHID))
        ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin""",
    """CREATE TABLE worker_archivetask (id int(10) unsigned NOT NULL, taskClass varchar(64) NOT NULL,
        leaseOwner varchar(64) DEFAULT NULL, leaseExpires int(10) unsigned DEFAULT NULL,
        failureCount int(10) unsigned NOT NULL, dataID int(10) unsigned NOT NULL, result int(10) unsigned NOT NULL,
        duration bigint(20) unsigned NOT NULL, dateCreated int(10) unsigned NOT NULL,
        dateModified int(10) unsigned NOT NULL, priority int(10) unsigned NOT NULL,
        objectPHID varbinary(64) DEFAULT NULL, containerPHID varbinary(64) DEFAULT NULL,
        archivedEpoch int(10) unsigned DEFAULT NULL, PRIMARY KEY (id), KEY dateCreated (dateCreated),
        KEY key_modified (dateModified), KEY key_object (objectPHID), KEY key_container (containerPHID))
        ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin""",
    """CREATE TABLE worker_taskdata (id int(10) unsigned NOT NULL AUTO_INCREMENT, data longtext NOT NULL,
        PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin""",
    """CREATE TABLE lisk_counter (counterName varchar(32) NOT NULL, counterValue bigint(20) unsigned NOT NULL,
        PRIMARY KEY (counterName)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin""",
    # Phorge's database of tasks holds more than these; a product that looks at it must not mind.
    "CREATE TABLE worker_trigger (id int(10) unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB",
    "CREATE TABLE edge (src varbinary(64) NOT NULL PRIMARY KEY) ENGINE=InnoDB",
)
LEASE = 7200
RETRY = 300

Row = dict[str, Any]
_sequence = itertools.count(1)


class Php:
    """One PHP process with its connection. `connect` opens it, as an administrator may."""

    def __init__(self, connection: Connection[Any]) -> None:
        self.connection = connection

    def create_tables(self) -> Self:
        for statement in TABLES:
            self.run(statement)
        return self

    def run(self, statement: str, *values: object) -> int:
        """Returns the number of rows that were changed."""
        with self.connection.cursor() as cursor:
            return int(cursor.execute(statement, values or None))

    def rows(self, statement: str, *values: object) -> list[Row]:
        with self.connection.cursor(DictCursor) as cursor:
            cursor.execute(statement, values or None)
            return cast("list[Row]", list(cursor.fetchall()))

    def close(self) -> None:
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A process that fails within one ends, and its connection with it."""
        self.run("START TRANSACTION")
        try:
            yield
        except BaseException:
            self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def load(self, task_id: int) -> Row:
        [row] = self.rows("SELECT * FROM worker_activetask WHERE id = %s", task_id)
        return row

    def enqueue(self, task_class: str, data: str = "{}", priority: int = 2000, **columns: object) -> int:
        """Within one transaction, the counter included."""
        with self.transaction():
            self.run("INSERT INTO worker_taskdata (data) VALUES (%s)", data)
            [taken] = self.rows("SELECT LAST_INSERT_ID() AS id")
            self.run(
                "INSERT INTO lisk_counter (counterName, counterValue) VALUES ('worker_activetask', LAST_INSERT_ID(1)) "
                "ON DUPLICATE KEY UPDATE counterValue = LAST_INSERT_ID(counterValue + 1)"
            )
            [counter] = self.rows("SELECT LAST_INSERT_ID() AS id")
            now = int(time.time())
            row = {"id": counter["id"], "taskClass": task_class, "failureCount": 0, "dataID": taken["id"]}
            row |= {"priority": priority, "dateCreated": now, "dateModified": now, **columns}
            self._insert("worker_activetask", row)
        return int(counter["id"])

    def lease(self, limit: int = 1) -> list[Row]:
        """PhabricatorWorkerLeaseQuery: new tasks, then expired ones."""
        owner = f"{os.getpid()}:{int(time.time())}:php-host:{next(_sequence)}"
        leased = 0
        new = self.rows(
            "SELECT id, leaseOwner FROM worker_activetask WHERE leaseOwner IS NULL "
            "ORDER BY priority ASC, id ASC LIMIT %s",
            limit,
        )
        if new:
            ids = ", ".join(str(row["id"]) for row in new)
            leased += self._take(owner, f"leaseOwner IS NULL AND id IN ({ids})")
        if leased < limit:
            expired = self.rows(
                "SELECT id, leaseOwner FROM worker_activetask WHERE leaseExpires < UNIX_TIMESTAMP() "
                "ORDER BY leaseExpires ASC LIMIT %s",
                limit - leased,
            )
            if expired:
                guards = " OR ".join("(id = %s AND leaseOwner = %s)" for _ in expired)
                known = [value for row in expired for value in (row["id"], row["leaseOwner"])]
                leased += self._take(owner, guards, *known)
        if not leased:
            return []
        return self.rows(
            "SELECT task.*, taskdata.data _taskData, UNIX_TIMESTAMP() _serverTime FROM worker_activetask task "
            "LEFT JOIN worker_taskdata taskdata ON taskdata.id = task.dataID "
            "WHERE task.leaseOwner = %s AND leaseExpires > UNIX_TIMESTAMP() LIMIT %s",
            owner,
            limit,
        )

    def _take(self, owner: str, condition: str, *values: object) -> int:
        return self.run(
            f"UPDATE worker_activetask task SET leaseOwner = %s, leaseExpires = UNIX_TIMESTAMP() + {LEASE} "
            f"WHERE {condition}",
            owner,
            *values,
        )

    def work(self, execute: Callable[[Row], str]) -> int:
        """Executes one task after another until there is none; returns how many. `execute` says what one came to."""
        count = 0
        while tasks := self.lease():
            for task in tasks:
                count += 1
                outcome = execute(task)
                {"success": self.succeed, "retry": self.retry_later, "failure": self.fail}[outcome](task)
        return count

    def succeed(self, task: Row) -> None:
        self._archive(task, 0, 1234)

    def fail(self, task: Row) -> None:
        self._archive(task, 1, 0)

    def retry_later(self, task: Row, wait: int = RETRY) -> None:
        now = int(task["_serverTime"])
        changed = {"failureCount": task["failureCount"] + 1, "failureTime": now, "leaseExpires": now + wait}
        self.save(task | changed)

    def yield_for(self, task: Row, seconds: int) -> None:
        self.save(task | {"leaseOwner": "(yield)", "leaseExpires": int(task["_serverTime"]) + max(seconds, 5)})

    def save(self, task: Row) -> None:
        """Writes every column of the row back."""
        columns = {name: value for name, value in task.items() if not name.startswith("_") and name != "id"}
        columns["dateModified"] = int(time.time())
        settings = ", ".join(f"{name} = %s" for name in columns)
        self.run(f"UPDATE worker_activetask SET {settings} WHERE id = %s", *columns.values(), task["id"])

    def _archive(self, task: Row, result: int, duration: int) -> None:
        now = int(time.time())
        row = {name: task[name] for name in task if not name.startswith("_") and name != "failureTime"}
        row |= {"result": result, "duration": duration, "archivedEpoch": now, "dateModified": now}
        with self.transaction():
            self.run("DELETE FROM worker_activetask WHERE id = %s", task["id"])
            self._insert("worker_archivetask", row)

    def _insert(self, table: str, row: Row) -> None:
        marks = ", ".join("%s" for _ in row)
        self.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())

    # bin/worker, each on one task

    def cancel(self, task_id: int) -> None:
        self._archive(self.load(task_id) | {"leaseOwner": None, "leaseExpires": int(time.time())}, 2, 0)

    def free(self, task_id: int) -> None:
        self.save(self.load(task_id) | {"leaseOwner": None, "leaseExpires": int(time.time())})

    def delay(self, task_id: int, until: int) -> None:
        task = self.load(task_id)
        if task["leaseOwner"] is None:
            self.save(task | {"leaseExpires": until})

    def prioritise(self, task_id: int, priority: int) -> None:
        self.save(self.load(task_id) | {"priority": priority})

    def retry(self, task_id: int) -> None:
        """Makes an archived task active again."""
        [archived] = self.rows("SELECT * FROM worker_archivetask WHERE id = %s", task_id)
        for name in ("result", "duration", "archivedEpoch"):
            del archived[name]
        archived |= {"leaseOwner": None, "leaseExpires": 0, "failureCount": 0, "dateModified": int(time.time())}
        with self.transaction():
            self._insert("worker_activetask", archived)
            self.run("DELETE FROM worker_archivetask WHERE id = %s", task_id)

    def restart_daemons(self) -> int:
        """`phd restart` frees every lease, other workers' included."""
        return self.run(
            "UPDATE worker_activetask SET leaseExpires = UNIX_TIMESTAMP() WHERE leaseExpires > UNIX_TIMESTAMP()"
        )
