"""What is known of reports that the queue has not finally answered. A rule without I/O."""

from __future__ import annotations

from gorge_worker.model import Lease

MOST = 10_000
"""Reports remembered; far more than an engine keeps unreported."""


class Attempt:
    """The tries of reporting one lease's outcome."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.in_doubt = False
        """Whether a try's answer was lost, so that the queue may have taken it."""
        self.errors = 0
        """Answers with status 500 in a row."""
        self.followups = 0
        """So many of the outcome's follow-ups are enqueued already."""


class Attempts:
    """By task id, until the final answer."""

    def __init__(self) -> None:
        self._open: dict[int, Attempt] = {}

    def of(self, lease: Lease) -> Attempt:
        """The attempt of a lease, a new one if it is the first try."""
        attempt = self._open.get(lease.task.id)
        if attempt is None or attempt.lease.owner != lease.owner:
            attempt = self._open[lease.task.id] = Attempt(lease)
            while len(self._open) > MOST:
                del self._open[next(iter(self._open))]
        return attempt

    def close(self, attempt: Attempt) -> None:
        """The queue has given its final answer."""
        self._open.pop(attempt.lease.task.id, None)

    def is_open(self, task_id: int, now: float) -> bool:
        """Whether an outcome of the task is on its way to the queue, under a lease that has not ended.
        `now` is CLOCK_BOOTTIME in seconds.
        """
        attempt = self._open.get(task_id)
        return attempt is not None and now < attempt.lease.ends_at
