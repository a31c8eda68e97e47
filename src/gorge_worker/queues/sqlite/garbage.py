"""Old archived tasks go, as Phorge's own collector has it: a disk must not fill over the years."""

from __future__ import annotations

import sqlite3

RETENTION = 14 * 86_400
"""Seconds after its archival for which an archived task is kept (Phorge's default for archived tasks)."""
BATCH = 100
"""Tasks that one transaction removes, so that it holds nobody up."""
PAUSE = 3600.0
"""Seconds between two collections."""

OLD = "SELECT id, dataID FROM worker_archivetask WHERE dateModified < ? ORDER BY dateModified LIMIT ?"


def collect(connection: sqlite3.Connection, now: int) -> bool:
    """Removes a batch of old archived tasks and their data; True when there may be more."""
    old = connection.execute(OLD, (now - RETENTION, BATCH)).fetchall()
    connection.executemany("DELETE FROM worker_taskdata WHERE id = ?", [(data_id,) for _, data_id in old])
    connection.executemany("DELETE FROM worker_archivetask WHERE id = ?", [(task_id,) for task_id, _ in old])
    return len(old) == BATCH
