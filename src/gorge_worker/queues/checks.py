"""What a column can hold, checked before anything is written: later a store would be half-way through it."""

from __future__ import annotations

from gorge_worker.model import NewTask
from gorge_worker.queues.protocol import ClassFilter
from gorge_worker.queues.store import (
    MAX_CLASS_BYTES,
    MAX_EVENT_BYTES,
    MAX_OWNER_BYTES,
    MAX_PHID_BYTES,
    MAX_UNSIGNED,
    BadTask,
)

_PRINTABLE = 2**64
"""Numbers from here on are not shown: Python refuses to print the longest ones."""


def check_new_task(task: NewTask) -> None:
    """Raises BadTask, naming the value, when the tables of a queue can't hold the task (contracts: Phorge's columns).

    Types are checked too: follow-ups come from task handlers, which nothing has type-checked.
    """
    _check_name("taskClass", task.task_class, MAX_CLASS_BYTES)
    for name, phid in (("objectPHID", task.object_phid), ("containerPHID", task.container_phid)):
        if phid:
            _check_name(name, phid, MAX_PHID_BYTES)
    for name, number in (("priority", task.priority), ("delayUntil", task.delay_until)):
        if number is not None:
            _check_unsigned(name, number)
    if not _is_text(task.data):
        raise BadTask("data is not text, or has a lone surrogate, which no UTF-8 text can hold")


def check_owner(owner: str) -> None:
    """Raises BadTask when `owner` can't be a lease owner."""
    _check_name("leaseOwner", owner, MAX_OWNER_BYTES)


def check_event_id(event_id: str) -> None:
    """Raises BadTask when `event_id` can't name an event."""
    _check_name("eventID", event_id, MAX_EVENT_BYTES)


def can_be_class(name: str) -> bool:
    """False for what no task's class can be: a filter that names it asks for nothing."""
    try:
        _check_name("taskClass", name, MAX_CLASS_BYTES)
    except BadTask:
        return False
    return True


def storable_filter(classes: ClassFilter) -> ClassFilter | None:
    """The filter with only such classes as tasks can have, each once and in order; None where it asks for nothing."""
    only = tuple(dict.fromkeys(name for name in classes.only if can_be_class(name) and classes.wants(name)))
    if classes.only:
        return ClassFilter(only=only) if only else None
    return ClassFilter(without=tuple(sorted(filter(can_be_class, set(classes.without)))))


def _check_name(column: str, value: object, most: int) -> None:
    if value == "":
        raise BadTask(f"{column} is empty")
    if not isinstance(value, str) or not _is_text(value) or "\0" in value:
        raise BadTask(f"{column} is not text, or has a NUL or a lone surrogate, which its column can't hold")
    if (size := len(value.encode())) > most:
        raise BadTask(f"{column} has {size} bytes; its column holds {most}")


def _check_unsigned(column: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadTask(f"{column} is not a whole number")
    if not 0 <= value <= MAX_UNSIGNED:
        shown = value if abs(value) < _PRINTABLE else "a number beyond 64 bits"
        raise BadTask(f"{column} is {shown}; its column holds 0 to {MAX_UNSIGNED}")


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
