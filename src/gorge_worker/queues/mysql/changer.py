"""Changes of tasks: calls that come at the same time share a transaction, and each change has its own fate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

from gorge_worker.queues.mysql.changes import Change, Fate
from gorge_worker.queues.mysql.changing import carry_out
from gorge_worker.queues.mysql.database import Database
from gorge_worker.queues.mysql.enqueuer import Enqueuer
from gorge_worker.queues.mysql.gathering import Gathering
from gorge_worker.queues.mysql.trouble import is_of_one
from gorge_worker.queues.store import StoreError

MOST_CALLS = 200


class Changer:
    """Makes changes."""

    def __init__(self, database: Database, enqueuer: Enqueuer) -> None:
        self._database = database
        self._enqueuer = enqueuer
        self._gathering = Gathering(self._make, most=MOST_CALLS)

    async def make(self, changes: Sequence[Change]) -> list[Fate]:
        """Makes the changes in their order. What is wrong with one of them alone is that one's `Fate.trouble`; raises
        StoreError when the database is away.
        """
        if not changes:
            return []
        try:
            return await self._gathering.call(changes)
        except StoreError as error:
            if not is_of_one(error):
                raise
            if len(changes) == 1:
                return [Fate(None, str(error), trouble=error)]
        return [fate for change in changes for fate in await self.make([change])]

    async def finish(self) -> None:
        await self._gathering.finish()

    async def _make(self, calls: list[Sequence[Change]]) -> list[list[Fate]]:
        fates: dict[int, Fate] = {}
        numbered = list(enumerate(chain.from_iterable(calls)))
        while numbered:
            # A task that is changed twice: the second change finds what the first one has made of it.
            first = {change.task_id: (number, change) for number, change in reversed(numbered)}
            turn = sorted(first.values())
            fates |= zip((number for number, _ in turn), await self._together([one for _, one in turn]), strict=True)
            numbered = [one for one in numbered if one[0] not in fates]
        every = iter([fates[number] for number in sorted(fates)])
        return [list(islice(every, len(call))) for call in calls]

    async def _together(self, changes: list[Change]) -> list[Fate]:
        count = sum(len(change.followups) for change in changes)
        ids = await self._enqueuer.take_ids(count) if count else ()
        return await self._database.transact(lambda session: carry_out(session, changes, ids))
