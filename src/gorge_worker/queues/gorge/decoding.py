"""From the body of a lease's answer to tasks: typed and fast, and on any error each task by itself."""

from __future__ import annotations

from typing import Any

import msgspec

from gorge_worker.model import Task
from gorge_worker.queues.gorge.envelope import UNCONVERTIBLE, UNREADABLE, Data, read_data_loosely


class BrokenTask(msgspec.Struct, frozen=True):
    """A task that can be told by its id and is of no use otherwise; `task` holds what could be read."""

    task: Task
    reason: str


class LeasedTasks(msgspec.Struct):
    """What an answer holds, each id once. `shown` counts all entries, those without a usable id as well."""

    shown: int = 0
    nameless: int = 0
    tasks: list[Task] = msgspec.field(default_factory=list)
    broken: list[BrokenTask] = msgspec.field(default_factory=list)


_typed = msgspec.json.Decoder(Data[list[Task] | None])


def read_tasks(body: bytes) -> LeasedTasks:
    """Raises ValueError when the body is not a list of anything in the queue's envelope.

    No list at all (`null`, which Go makes of an empty one) is an empty list.
    """
    try:
        tasks = _typed.decode(body).data or []
    except UNREADABLE:
        return _judge_each(read_data_loosely(body))
    if any(task.id <= 0 or not task.task_class for task in tasks):
        return _judge_each(read_data_loosely(body))
    once: dict[int, Task] = {}
    for task in tasks:
        once.setdefault(task.id, task)
    return LeasedTasks(shown=len(tasks), tasks=list(once.values()))


def _judge_each(entries: Any) -> LeasedTasks:
    if entries is None:
        return LeasedTasks()
    if not isinstance(entries, list):
        raise ValueError(f"the data is no list of tasks but {type(entries).__name__}")  # noqa: TRY004 (bad input)
    found = LeasedTasks(shown=len(entries))
    known: set[int] = set()
    for entry in entries:
        number = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
            found.nameless += 1
        elif number not in known:
            known.add(number)
            match _judge(number, entry):
                case BrokenTask() as broken:
                    found.broken.append(broken)
                case task:
                    found.tasks.append(task)
    return found


def _judge(number: int, entry: dict[Any, Any]) -> Task | BrokenTask:
    given = {name: value for name, value in entry.items() if value is not None}
    try:
        task = msgspec.convert(given, Task)
    except UNCONVERTIBLE as error:
        return BrokenTask(_remains(number, given), str(error))
    if not task.task_class:
        return BrokenTask(_remains(number, given), "the task class is empty")
    texts = {"taskClass": task.task_class, "data": task.data, "leaseOwner": task.lease_owner or ""}
    texts |= {"objectPHID": task.object_phid or "", "containerPHID": task.container_phid or ""}
    if bad := next((name for name, text in texts.items() if not _is_text(text)), None):
        return BrokenTask(_remains(number, given), f"{bad} is not valid Unicode (a lone surrogate or a stray byte)")
    return task


def _remains(number: int, entry: dict[Any, Any]) -> Task:
    task_class, expires = entry.get("taskClass"), entry.get("leaseExpires")
    return Task(
        id=number,
        task_class=task_class if isinstance(task_class, str) and _is_text(task_class) else "",
        lease_expires=expires if isinstance(expires, int) and not isinstance(expires, bool) else None,
    )


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
