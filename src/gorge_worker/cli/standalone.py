from __future__ import annotations

from pathlib import Path

import click

from gorge_worker.cli.options import env_file_option, settings_for_service
from gorge_worker.config.settings import STANDALONE_DEFAULTS


@click.command(
    epilog="""\b
Examples:
  gorge-worker standalone
  HANDLERS=our_handlers gorge-worker standalone --data /var/lib/gorge-worker"""
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("data"),
    show_default=True,
    help="The folder that keeps the queue; created when missing.",
)
@env_file_option
@click.pass_context
def standalone(context: click.Context, data: Path, env_file: Path | None) -> None:
    """Run a worker with a queue of its own.

    Nothing has to be set up. The queue's API is at QUEUE_LISTEN_ADDR, the worker's at LISTEN_ADDR, on this machine
    only unless set otherwise.
    """
    settings = settings_for_service(env_file, STANDALONE_DEFAULTS)
    from gorge_worker.app import run_standalone  # noqa: PLC0415 - brings the whole worker with it

    context.exit(run_standalone(settings, data))
