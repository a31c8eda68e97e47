"""A task in the words in which PHP is told of it, whichever way (contract: conduit.md, "Request")."""

from __future__ import annotations

from typing import Any

from gorge_worker.model import Lease


def task_parameters(lease: Lease) -> dict[str, Any]:
    """What every PHP knows. The task's data is the text that it is, never decoded."""
    task = lease.task
    return {"taskID": task.id, "taskClass": task.task_class, "data": task.data}


def context_parameters(lease: Lease) -> dict[str, Any]:
    """What else is known of the task, and its lease."""
    task = lease.task
    return {
        "failureCount": task.failure_count,
        "priority": task.priority,
        "objectPHID": task.object_phid,
        "containerPHID": task.container_phid,
        "leaseOwner": lease.owner,
        "leaseExpires": lease.expires,
    }
