"""A lease of a generation 1 queue, and the rows and answers that it may meet."""

from __future__ import annotations

from gorge_worker.http_client import HttpAnswer, NoAnswer
from gorge_worker.model import Task
from gorge_worker.queues.gorge.fences import FencedLease
from gorge_worker.queues.gorge.meta import Generation
from support.scripted_http import data, error
from support.virtual_time import VirtualClock

GO = Generation(execution_version=1, fenced=True)
"""The Go server's."""
OURS = Generation(execution_version=1, fenced=True, release=True, lease_duration=300)
"""This product's own server's."""
EPOCH = int(VirtualClock.EPOCH)
EXPIRES = EPOCH + 2000
THREE = {"taskID": 7, "leaseOwner": "me", "leaseExpires": EXPIRES}
CONFLICT, GONE = error(409, "ERR_LEASE_CONFLICT"), error(404, "ERR_NOT_FOUND")
CUT = NoAnswer("the connection broke")


def fenced_lease(generation: Generation = OURS, task_id: int = 7, left: float = 2000.0) -> FencedLease:
    """Ends so many seconds after VirtualClock's epoch; the loop's time starts at 1000."""
    task = Task(id=task_id, task_class="Some", priority=3500)
    return FencedLease(task=task, owner="me", expires=EPOCH + int(left), ends_at=left, generation=generation)


def row(owner: str | None = "me", expires: int = EPOCH + 2300, task_id: int = 7) -> HttpAnswer:
    shown = {"id": task_id, "taskClass": "Some", "leaseOwner": owner, "leaseExpires": expires}
    return data({name: value for name, value in shown.items() if value is not None})
