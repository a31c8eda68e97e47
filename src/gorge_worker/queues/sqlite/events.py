"""Tasks that are enqueued once for an event, however often it is told."""

from __future__ import annotations

import sqlite3

from gorge_worker.model import NewTask, Task
from gorge_worker.queues.events import decode_task, digest, encode_task
from gorge_worker.queues.sqlite.enqueueing import enqueue
from gorge_worker.queues.store import EventConflict

_FIND = "SELECT digest, task FROM gorge_event WHERE eventID = ?"
_INSERT = "INSERT INTO gorge_event (eventID, digest, task, dateCreated) VALUES (?, ?, ?, ?)"


def enqueue_once(connection: sqlite3.Connection, now: int, event_id: str, task: NewTask) -> Task:
    """Adds the task, or returns the one that was first added for the event. Raises EventConflict."""
    known = connection.execute(_FIND, (event_id,)).fetchone()
    if known is None:
        [added] = enqueue(connection, now, [task])
        connection.execute(_INSERT, (event_id, digest(task), encode_task(added), now))
        return added
    first_digest, first = known
    if first_digest != digest(task):
        raise EventConflict(event_id)
    return decode_task(first)
