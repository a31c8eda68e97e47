"""Rows of `worker_activetask` as tasks.

A row that another program has written nonsense into is that row's trouble alone: it is shown as far as it can be
read, can be cancelled, and is set aside instead of leased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gorge_worker.model import Task
from gorge_worker.queues.store import MAX_UNSIGNED

BROKEN_OWNER = "(broken)"
"""The owner of a row that can't be read as a task."""
BROKEN_REST = 86_400
"""Seconds until such a row is looked at again: by then somebody may have repaired it."""
MAX_BROKEN = 1000
"""Rows that one lease sets aside; the next one goes on from there."""


class Column(NamedTuple):
    name: str
    field: str
    holds: Callable[[Any], bool]
    instead: Any
    """What stands for a value that the column should not hold."""


def is_unsigned(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_UNSIGNED


def _unsigned_or_null(value: object) -> bool:
    return value is None or is_unsigned(value)


def _name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


COLUMNS = (
    Column("taskClass", "task_class", _name, ""),
    Column("leaseOwner", "lease_owner", _text_or_null, None),
    Column("leaseExpires", "lease_expires", _unsigned_or_null, None),
    Column("failureCount", "failure_count", is_unsigned, 0),
    Column("dataID", "data_id", is_unsigned, 0),
    Column("failureTime", "failure_time", _unsigned_or_null, None),
    Column("priority", "priority", is_unsigned, 0),
    Column("objectPHID", "object_phid", _text_or_null, None),
    Column("containerPHID", "container_phid", _text_or_null, None),
    Column("dateCreated", "date_created", is_unsigned, 0),
    Column("dateModified", "date_modified", is_unsigned, 0),
)
NAMES = ", ".join(f"t.{name}" for name in ("id", *(column.name for column in COLUMNS)))
"""What a statement selects of `worker_activetask AS t`, so that `read` understands it."""


class Reading(NamedTuple):
    """A task as far as its row can be read, and what is wrong with the row, in words."""

    task: Task
    problems: list[str]


def read(row: Sequence[Any], **known: Any) -> Reading:
    """Reads a row of NAMES; `known` are fields that are about to be overwritten with these, or come from elsewhere."""
    fields: dict[str, Any] = {"id": row[0]}
    problems = [] if 0 < row[0] <= MAX_UNSIGNED else ["its id is out of range"]
    for column, value in zip(COLUMNS, row[1:], strict=False):
        if column.field in known or column.holds(value):
            fields[column.field] = value
        else:
            fields[column.field] = column.instead
            problems.append(f"{column.name} is {value!r:.40}")
    return Reading(Task(**(fields | known)), problems)


def data_problem(data: object) -> str | None:
    """What is wrong with what `worker_taskdata` holds for a row, in words."""
    if isinstance(data, str):
        return None
    return "its row in worker_taskdata is missing" if data is None else "its data is not UTF-8 text"
