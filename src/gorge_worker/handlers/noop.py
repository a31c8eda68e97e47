"""Tasks that only need to leave the queue."""

from __future__ import annotations

import structlog

from gorge_worker.model import Lease, Outcome, Task

_log = structlog.get_logger()


class NoopHandler:
    """Acknowledges tasks: every one succeeds, and nothing is done (NOOP_CLASSES)."""

    backend = None
    timeout = None
    stops_when_cancelled = True
    waiting = 0

    def retry_wait(self, _task: Task) -> None:
        """The queue's own."""

    async def execute(self, lease: Lease) -> Outcome:
        _log.debug("acknowledged without being executed", task=lease.task.id, task_class=lease.task.task_class)
        return Outcome.success()
