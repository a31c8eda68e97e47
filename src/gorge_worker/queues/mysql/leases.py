"""Leases: calls for the same classes that come at the same time share a transaction."""

from __future__ import annotations

from typing import NamedTuple

from gorge_worker.model import Task
from gorge_worker.queues.mysql.changer import Changer
from gorge_worker.queues.mysql.changes import Change, release
from gorge_worker.queues.mysql.database import Database
from gorge_worker.queues.mysql.gathering import Gathering
from gorge_worker.queues.mysql.leasing import Granted, lease
from gorge_worker.queues.mysql.seen import SeenByFilter
from gorge_worker.queues.mysql.trouble import CommitLost
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.store import StoreLease
from gorge_worker.queues.turns import Turns

MOST_CALLS = 100
LOOKS = 10
"""Pages of candidates that one call passes over in vain at most; the next call goes on from there."""
MOST_KINDS = 100
MOST_DOUBTS = 10_000
"""Leases remembered whose commit was not answered."""


class Kind(NamedTuple):
    """What calls must have in common to be answered together."""

    classes: ClassFilter
    duration: int


class Leases:
    """Gives leases. One whose commit got no answer may be there, and nobody knows of it: it is taken back."""

    def __init__(self, database: Database, changer: Changer, seen: SeenByFilter) -> None:
        self._database = database
        self._changer = changer
        self._seen = seen
        self._turns = Turns()
        self._kinds: dict[Kind, Gathering[StoreLease, list[Task]]] = {}
        self._doubts: list[Change] = []

    async def lease(self, wanted: StoreLease) -> list[Task]:
        """Leases for a checked owner. Raises StoreError."""
        await self._settle()
        kind = Kind(wanted.classes, wanted.duration)
        if (gathering := self._kinds.get(kind)) is None:
            await self._forget_kinds()
            gathering = self._kinds.setdefault(kind, Gathering(self._grant, most=MOST_CALLS))
        return await gathering.call(wanted)

    async def finish(self) -> None:
        for gathering in self._kinds.values():
            await gathering.finish()
        await self._settle()

    async def _grant(self, calls: list[StoreLease]) -> list[list[Task]]:
        due_first = self._turns.due_first(calls[0].classes)
        for _ in range(LOOKS):
            granted = await self._look(calls, due_first=due_first)
            if not granted.more:
                break
        return granted.tasks

    async def _look(self, calls: list[StoreLease], *, due_first: bool) -> Granted:
        try:
            return await self._database.transact(lambda session: lease(session, calls, self._seen, due_first=due_first))
        except CommitLost as lost:
            if isinstance(lost.result, Granted):
                self._doubt([task for tasks in lost.result.tasks for task in tasks])
            raise

    def _doubt(self, tasks: list[Task]) -> None:
        self._doubts = [*self._doubts, *map(release, tasks)][-MOST_DOUBTS:]

    async def _settle(self) -> None:
        """Takes back what may have been leased for nobody. Raises StoreError while the database is away."""
        if self._doubts:
            doubts, self._doubts = self._doubts, []
            try:
                await self._changer.make(doubts)
            except BaseException:
                self._doubts = [*doubts, *self._doubts]
                raise
            self._seen.clear()

    async def _forget_kinds(self) -> None:
        if len(self._kinds) >= MOST_KINDS:
            kinds, self._kinds = self._kinds, {}
            for gathering in kinds.values():
                await gathering.finish()
