"""Phorge's queue as the suite looks at it: active and archived tasks of every writer."""

from __future__ import annotations

from collections import Counter

from phorge.support.database import Databases, Row
from support.waiting import until_true

APPLICATION = "worker"
DRAINED_WITHIN = 60.0
SUCCESS = 0


class Queue:
    def __init__(self, databases: Databases) -> None:
        self._databases = databases

    @property
    def url(self) -> str:
        """The queue's database, for TASK_QUEUE_URL."""
        return self._databases.url(APPLICATION)

    def run(self, statement: str, *values: object) -> list[Row]:
        return self._databases.rows(APPLICATION, statement, *values)

    def clear(self) -> None:
        """Forgets all tasks. Nothing may be working on them."""
        for table in ("worker_activetask", "worker_archivetask", "worker_taskdata"):
            self.run(f"DELETE FROM {table}")

    @property
    def active(self) -> list[Row]:
        return self._tasks("worker_activetask")

    @property
    def archived(self) -> list[Row]:
        return self._tasks("worker_archivetask")

    def _tasks(self, table: str) -> list[Row]:
        return self.run(
            f"SELECT t.*, d.data FROM {table} t LEFT JOIN worker_taskdata d ON d.id = t.dataID ORDER BY t.id"
        )

    def count(self, table: str) -> int:
        [row] = self.run(f"SELECT COUNT(*) n FROM worker_{table}")
        return int(row["n"])

    async def drained(self, within: float = DRAINED_WITHIN) -> None:
        """Waits until there is no active task."""

        async def is_so() -> bool:
            return self.count("activetask") == 0

        await until_true(is_so, within=within, what="the queue is empty")

    async def idle(self, within: float = DRAINED_WITHIN) -> None:
        """Waits until every active task has failed or yielded, and waits for its turn."""

        async def is_so() -> bool:
            waiting = "leaseExpires > UNIX_TIMESTAMP() AND (failureTime IS NOT NULL OR leaseOwner = '(yield)')"
            return not self.run(f"SELECT id FROM worker_activetask WHERE NOT COALESCE({waiting}, FALSE)")

        await until_true(is_so, within=within, what="every task waits for its turn")

    def executed(self) -> Counter[str]:
        """How many tasks of each class are archived. All of them have to be successes at the first try."""
        archived = self.archived
        failed = [row for row in archived if row["result"] != SUCCESS or row["failureCount"]]
        assert not failed, failed
        return Counter(str(row["taskClass"]) for row in archived)
