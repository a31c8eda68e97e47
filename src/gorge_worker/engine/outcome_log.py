"""The one log line for each outcome, and the one for each class that nothing executes."""

from __future__ import annotations

import structlog

from gorge_worker.model import Outcome, Task, Verdict

MOST_NAMED = 1000
"""So many unsupported classes are named, each once: the names come from elsewhere, and memory is bounded."""

_log = structlog.get_logger()
_LEVELS = {
    Verdict.SUCCESS: "info",
    Verdict.YIELD: "info",
    Verdict.RELEASE: "debug",  # nothing was executed; what caused it has its own line
    Verdict.TEMPORARY_FAILURE: "warning",
    Verdict.PERMANENT_FAILURE: "error",
}


def log_outcome(task: Task, outcome: Outcome, seconds: float) -> None:
    """`seconds` is how long it took here."""
    fields: dict[str, object] = {
        "task": task.id,
        "task_class": task.task_class,
        "outcome": str(outcome.verdict),
        "seconds": round(seconds, 4),
        "attempt": task.failure_count + 1,
    }
    if outcome.wait is not None:
        fields["wait"] = outcome.wait
    if outcome.reason:
        fields["reason"] = outcome.reason
    event = "task given back" if outcome.verdict is Verdict.RELEASE else "task executed"
    getattr(_log, _LEVELS[outcome.verdict])(event, **fields)


class UnsupportedNotice:
    """Warns once for each class that the queue hands out and nothing here executes."""

    def __init__(self, wait: int) -> None:
        self._wait = wait
        self._named: set[str] = set()

    def tell(self, task: Task) -> None:
        if task.task_class in self._named or len(self._named) >= MOST_NAMED:
            return
        self._named.add(task.task_class)
        _log.warning(
            "no handler for a class that the queue hands out, its tasks go back",
            task_class=task.task_class,
            task=task.id,
            wait=self._wait,
        )
