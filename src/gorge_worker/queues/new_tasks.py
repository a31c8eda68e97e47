"""What a task is like when it has just been enqueued: the same in every store."""

from __future__ import annotations

from gorge_worker.model import NewTask, Task
from gorge_worker.queues.store import DELAY_OWNER


def enqueued(new: NewTask, *, task_id: int, data_id: int, now: int, priority: int) -> Task:
    """The task without data; `priority` is for one that names none, `now` is epoch seconds of the store's clock."""
    delayed = new.delay_until is not None and new.delay_until > now
    return Task(
        id=task_id,
        task_class=new.task_class,
        lease_owner=DELAY_OWNER if delayed else None,
        lease_expires=new.delay_until if delayed else None,
        data_id=data_id,
        priority=int(priority if new.priority is None else new.priority),
        object_phid=new.object_phid or None,
        container_phid=new.container_phid or None,
        date_created=now,
        date_modified=now,
    )


def columns(task: Task) -> tuple[object, ...]:
    """The values of such a task's columns, in the order of COLUMNS."""
    return (
        task.id,
        task.task_class,
        task.lease_owner,
        task.lease_expires,
        task.data_id,
        task.priority,
        task.object_phid,
        task.container_phid,
        task.date_created,
        task.date_modified,
    )


COLUMNS = (
    "id, taskClass, leaseOwner, leaseExpires, dataID, priority, objectPHID, containerPHID, dateCreated, dateModified"
)
"""Those that are set; the others are 0 or NULL."""
