"""Tasks that are enqueued once for an event, however often it is told."""

from __future__ import annotations

from collections.abc import Sequence

from gorge_worker.model import NewTask, Task
from gorge_worker.queues.events import decode_task, digest, encode_task
from gorge_worker.queues.mysql.enqueueing import insert
from gorge_worker.queues.mysql.schema import EVENTS
from gorge_worker.queues.mysql.session import Session
from gorge_worker.queues.store import EventConflict

_FIND = f"SELECT digest, task FROM {EVENTS} WHERE eventID = %s"  # noqa: S608 -- a table's name
_INSERT = f"INSERT INTO {EVENTS} (eventID, digest, task, dateCreated) VALUES (%s, %s, %s, %s)"  # noqa: S608 -- likewise


def known_task(session: Session, event_id: str, task: NewTask) -> Task | None:
    """The task that was first added for the event. Raises EventConflict when it was another one."""
    found = session.rows(_FIND, (event_id,))
    if not found:
        return None
    first_digest, first = found[0]
    if first_digest != digest(task):
        raise EventConflict(event_id)
    return decode_task(first)


def add(session: Session, event_id: str, ids: Sequence[int], task: NewTask) -> Task:
    """Adds the task and remembers the event. Raises Duplicate when somebody else has just done so."""
    [added] = insert(session, ids, [task])
    session.change(_INSERT, (event_id, digest(task), encode_task(added), session.now))
    return added
