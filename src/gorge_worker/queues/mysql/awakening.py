"""Awakening: the one change that is made to many tasks at once."""

from __future__ import annotations

from collections.abc import Sequence

from gorge_worker.queues.mysql.session import Session, marks
from gorge_worker.queues.store import AWAKEN_WINDOW, MAX_UNSIGNED, YIELD_OWNER

_AWAKEN = (
    "UPDATE worker_activetask SET leaseExpires = %s, dateModified = %s "
    "WHERE id IN ({ids}) AND leaseOwner = %s AND failureCount = 0 AND leaseExpires > %s"
)


def awaken(session: Session, task_ids: Sequence[int]) -> int:
    """Makes yielded tasks due that never failed and were not awakened before; returns how many."""
    ids = sorted({task_id for task_id in task_ids if 0 < task_id <= MAX_UNSIGNED})
    if not ids:
        return 0
    past = max(session.now - AWAKEN_WINDOW, 0)
    return session.change(_AWAKEN.format(ids=marks(len(ids))), (past, session.now, *ids, YIELD_OWNER, past))
