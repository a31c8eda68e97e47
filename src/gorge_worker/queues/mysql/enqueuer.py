"""Enqueuing: calls that come at the same time share their ids and their transaction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

from gorge_worker.model import NewTask, Task
from gorge_worker.queues.mysql import events
from gorge_worker.queues.mysql.database import Database
from gorge_worker.queues.mysql.enqueueing import insert, take_ids
from gorge_worker.queues.mysql.gathering import Gathering
from gorge_worker.queues.mysql.trouble import DoesNotFit, Duplicate, TooLong
from gorge_worker.queues.store import BadTask, StoreError

MOST_CALLS = 200


def bad_task(error: DoesNotFit) -> BadTask:
    """What a caller is told: the driver's words name the server, and the log has them."""
    if isinstance(error, TooLong):
        return BadTask(str(error))
    return BadTask("a value does not fit the database's columns or character set")


class Enqueuer:
    """Adds tasks that have been checked."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gathering = Gathering(self._add, most=MOST_CALLS)

    async def add(self, tasks: Sequence[NewTask]) -> list[Task]:
        """All or none. Raises StoreError, and BadTask for what this database can't hold."""
        if not tasks:
            return []
        try:
            return await self._gathering.call(tasks)
        except DoesNotFit as error:
            raise bad_task(error) from error

    async def add_once(self, event_id: str, task: NewTask) -> Task:
        """Adds a task for an event unless it was added before. Raises EventConflict besides."""
        for _ in range(2):
            if known := await self._database.read(lambda session: events.known_task(session, event_id, task)):
                return known
            ids = await self.take_ids(1)
            try:
                return await self._database.transact(lambda session: events.add(session, event_id, ids, task))  # noqa: B023
            except Duplicate:  # by somebody else, just now
                continue
            except DoesNotFit as error:
                raise bad_task(error) from error
        raise StoreError(f"the event {event_id!r:.80} was added and is gone")

    async def take_ids(self, count: int) -> Sequence[int]:
        return await self._database.read(lambda session: take_ids(session, count))

    async def finish(self) -> None:
        await self._gathering.finish()

    async def _add(self, calls: list[Sequence[NewTask]]) -> list[list[Task]]:
        tasks = list(chain.from_iterable(calls))
        ids = await self.take_ids(len(tasks))
        added = iter(await self._database.transact(lambda session: insert(session, ids, tasks)))
        return [list(islice(added, len(call))) for call in calls]
