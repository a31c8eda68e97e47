"""What a store remembers of an event's task: a digest, which tells another task from the same one, and the task."""

from __future__ import annotations

import hashlib

import msgspec

from gorge_worker.model import NewTask, Task


def digest(task: NewTask) -> str:
    """The same for the same enqueue body, however it was spelt; hexadecimal."""
    fields = msgspec.structs.astuple(msgspec.structs.replace(task, priority=_plain(task.priority)))
    return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()


def encode_task(task: Task) -> str:
    return msgspec.json.encode(task).decode()


def decode_task(text: str) -> Task:
    """Reads what `encode_task` has written."""
    return msgspec.json.decode(text, type=Task)


def _plain(priority: int | None) -> int | None:
    return None if priority is None else int(priority)
