"""Puts the parts together and runs them: the only place that knows them all.

Each function reads its settings, owns the process's event loop until SIGTERM or SIGINT, and returns the exit code.
What one of them does not need it does not import.
"""

from __future__ import annotations

from pathlib import Path

from gorge_worker.app.process import run_service
from gorge_worker.config.settings import Settings
from gorge_worker.config.values import ListenAddress


def run_worker(settings: Settings) -> int:
    """A worker on the queue that TASK_QUEUE_URL names. Raises ConfigurationError and StartError."""
    from gorge_worker.app.worker import serve_worker  # noqa: PLC0415 - see above

    return run_service(lambda signals: serve_worker(settings, signals))


def run_queue(settings: Settings, store_url: str, listen: ListenAddress, *, create_schema: bool) -> int:
    """A queue server on a store. Raises ConfigurationError and StartError."""
    from gorge_worker.app.queue import serve_queue  # noqa: PLC0415 - see above

    return run_service(lambda signals: serve_queue(settings, store_url, listen, signals, create_schema=create_schema))


def run_standalone(settings: Settings, data: Path) -> int:
    """A queue in the folder `data`, its server, and a worker on it. Raises ConfigurationError and StartError."""
    from gorge_worker.app.standalone import serve_standalone  # noqa: PLC0415 - see above

    return run_service(lambda signals: serve_standalone(settings, data, signals))
