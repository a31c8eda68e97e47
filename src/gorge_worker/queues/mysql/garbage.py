"""Old archived tasks and events leave a database of the product's own; Phorge's has a collector of Phorge's."""

from __future__ import annotations

from gorge_worker.queues.mysql.schema import EVENTS
from gorge_worker.queues.mysql.session import Session, marks
from gorge_worker.queues.retention import RETENTION

BATCH = 500
"""Tasks that one transaction removes, so that it holds nobody up."""
OLD = "SELECT id, dataID FROM worker_archivetask WHERE dateModified < %s ORDER BY dateModified LIMIT %s FOR UPDATE"
_OLD_EVENTS = f"DELETE FROM {EVENTS} WHERE dateCreated < %s LIMIT %s"  # noqa: S608 -- a table's name


def collect(session: Session) -> bool:
    """Removes a batch of old archived tasks with their data, and old events; True when there may be more."""
    before = session.now - RETENTION
    old = session.rows(OLD, (before, BATCH))
    for table, ids in (("worker_taskdata", [row[1] for row in old]), ("worker_archivetask", [row[0] for row in old])):
        if ids:
            session.change(f"DELETE FROM {table} WHERE id IN ({marks(len(ids))})", ids)  # noqa: S608 -- no value in it
    events = session.change(_OLD_EVENTS, (before, BATCH))
    return BATCH in (len(old), events)
