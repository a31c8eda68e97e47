"""Old archived tasks go, as Phorge's own collector has it, and old events: a disk must not fill over the years."""

from __future__ import annotations

import sqlite3

from gorge_worker.queues.retention import RETENTION

BATCH = 100
"""Tasks that one transaction removes, so that it holds nobody up."""

OLD = "SELECT id, dataID FROM worker_archivetask WHERE dateModified < ? ORDER BY dateModified LIMIT ?"

_OLD_EVENTS = (
    "DELETE FROM gorge_event WHERE eventID IN "
    "(SELECT eventID FROM gorge_event WHERE dateCreated < ? ORDER BY dateCreated LIMIT ?)"
)


def collect(connection: sqlite3.Connection, now: int) -> bool:
    """Removes a batch of old archived tasks with their data, and old events; True when there may be more."""
    old = connection.execute(OLD, (now - RETENTION, BATCH)).fetchall()
    connection.executemany("DELETE FROM worker_taskdata WHERE id = ?", [(data_id,) for _, data_id in old])
    connection.executemany("DELETE FROM worker_archivetask WHERE id = ?", [(task_id,) for task_id, _ in old])
    events = connection.execute(_OLD_EVENTS, (now - RETENTION, BATCH)).rowcount
    return BATCH in (len(old), events)
