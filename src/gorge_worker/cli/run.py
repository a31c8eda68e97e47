from __future__ import annotations

from pathlib import Path

import click

from gorge_worker.cli.options import env_file_option, settings_for_service


@click.command(
    epilog="""\b
Examples:
  TASK_QUEUE_URL=http://task-queue:8090 CONDUIT_URL=https://phorge.example.com gorge-worker run
  gorge-worker run --env-file /etc/gorge-worker.env"""
)
@env_file_option
@click.pass_context
def run(context: click.Context, env_file: Path | None) -> None:
    """Run a worker.

    It executes the tasks of the queue that TASK_QUEUE_URL names; CONDUIT_URL, HANDLERS and others say how.

    SIGTERM or SIGINT lets running tasks finish for DRAIN_TIMEOUT_SEC seconds; a second one ends it at once.
    """
    settings = settings_for_service(env_file)
    from gorge_worker.app import run_worker  # noqa: PLC0415 - brings the whole worker with it

    context.exit(run_worker(settings))
