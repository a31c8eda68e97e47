"""New tasks: ids from Phorge's counter, data first, then the task."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from gorge_worker.model import NewTask, Priority, Task
from gorge_worker.queues.mysql.session import Session, marks
from gorge_worker.queues.mysql.trouble import TooLong
from gorge_worker.queues.new_tasks import COLUMNS, columns, enqueued
from gorge_worker.queues.store import MAX_UNSIGNED, StoreError

COUNTER = "worker_activetask"
CHUNK_ROWS = 500
CHUNK_CHARACTERS = 200_000
"""Of one INSERT: below every server's max_allowed_packet, unless a single task's data is larger."""
STATEMENT = 1000
"""Bytes of a statement beside its one large value, and more."""

_TAKE_IDS = (
    "INSERT INTO lisk_counter (counterName, counterValue) VALUES (%s, LAST_INSERT_ID(%s)) "
    "ON DUPLICATE KEY UPDATE counterValue = LAST_INSERT_ID(counterValue + %s)"
)
_INSERT_DATA = "INSERT INTO worker_taskdata (data) VALUES "
_INSERT_TASKS = f"INSERT INTO worker_activetask ({COLUMNS}, failureCount) VALUES "  # noqa: S608 -- column names
_TASK = f"({marks(len(COLUMNS.split(',')))}, 0)"


def take_ids(session: Session, count: int) -> range:
    """Takes so many ids at once. Not to be called in a transaction, which would keep the counter from everybody else
    until its end. Raises StoreError when there are none left.
    """
    last = session.insert_id(_TAKE_IDS, (COUNTER, count, count))
    if last > MAX_UNSIGNED:
        raise StoreError(f"the task ids are used up: lisk_counter stands at {last}, a column holds {MAX_UNSIGNED}")
    return range(last - count + 1, last + 1)


def insert(
    session: Session, ids: Sequence[int], tasks: Sequence[NewTask], priority: int = Priority.DEFAULT
) -> list[Task]:
    """Inserts tasks that have been checked; `priority` is for those without one. Returns them without data."""
    rows = [
        enqueued(task, task_id=task_id, data_id=data_id, now=session.now, priority=priority)
        for task_id, data_id, task in zip(ids, _insert_data(session, tasks), tasks, strict=True)
    ]
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = rows[start : start + CHUNK_ROWS]
        session.change(_INSERT_TASKS + marks(len(chunk), _TASK), list(chain.from_iterable(map(columns, chunk))))
    return rows


def _insert_data(session: Session, tasks: Sequence[NewTask]) -> list[int]:
    """Returns the ids of the data, in order. Raises TooLong."""
    _check_size(session, [task.data for task in tasks if len(task.data) > CHUNK_CHARACTERS])
    if not session.returns_ids:
        return [session.insert_id(_INSERT_DATA + "(%s)", (task.data,)) for task in tasks]
    ids: list[int] = []
    for chunk in _chunks([task.data for task in tasks]):
        # One statement's rows get ascending ids in the order of their values; gaps are possible (Galera).
        found = session.rows(_INSERT_DATA + marks(len(chunk), "(%s)") + " RETURNING id", chunk)
        ids += sorted(data_id for [data_id] in found)
    return ids


def _check_size(session: Session, large: Sequence[str]) -> None:
    """A statement that is too long costs its connection, and does not say which value was to blame."""
    if not large:
        return
    [[most]] = session.rows("SELECT @@max_allowed_packet")
    for text in large:
        if (size := session.size(text)) + STATEMENT > most:
            raise TooLong(f"data takes {size} bytes in a statement; the server's max_allowed_packet is {most}")


def _chunks(texts: Sequence[str]) -> list[list[str]]:
    chunks: list[list[str]] = []
    characters = 0
    for text in texts:
        characters += len(text)
        if not chunks or len(chunks[-1]) == CHUNK_ROWS or characters > CHUNK_CHARACTERS:
            chunks.append([])
            characters = len(text)
        chunks[-1].append(text)
    return chunks
