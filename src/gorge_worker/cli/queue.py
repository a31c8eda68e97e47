from __future__ import annotations

from pathlib import Path

import click

from gorge_worker.cli.options import Value, env_file_option, settings_for_service
from gorge_worker.config.kinds import LISTEN_ADDRESS, STORE_URL
from gorge_worker.config.values import ListenAddress


@click.command(
    epilog="""\b
Examples:
  gorge-worker queue --store sqlite:///queue.db
  gorge-worker queue --store sqlite:////var/lib/gorge-worker/queue.db --listen :8090
  TASK_QUEUE_TOKEN=password gorge-worker queue --store mysql://user@127.0.0.1/tasks --create-schema"""
)
@click.option(
    "--store",
    "store_url",
    required=True,
    type=Value(STORE_URL, "URL"),
    help="Where the tasks are kept: sqlite:///relative/path, sqlite:////absolute/path, or"
    " mysql://user:password@host:3306/database (MySQL or MariaDB, Phorge's own tables too).",
)
@click.option(
    "--create-schema",
    is_flag=True,
    help="Create the tables in a MySQL or MariaDB database that is empty. An SQLite file is created anyway.",
)
@click.option(
    "--listen", type=Value(LISTEN_ADDRESS, "HOST:PORT"), help="The address to serve.  [default: QUEUE_LISTEN_ADDR]"
)
@env_file_option
@click.pass_context
def queue(
    context: click.Context, store_url: str, listen: ListenAddress | None, env_file: Path | None, *, create_schema: bool
) -> None:
    """Serve a queue over HTTP.

    SERVICE_TOKEN protects it; LEASE_DURATION and RETRY_WAIT (seconds) configure it. TASK_QUEUE_TOKEN is the database's
    password where the URL has none.
    """
    settings = settings_for_service(env_file, secrets=STORE_URL.secrets(store_url))
    from gorge_worker.app import run_queue  # noqa: PLC0415 - brings the whole server with it

    listen = listen or settings.queue_listen_addr
    context.exit(run_queue(settings, store_url, listen, create_schema=create_schema))
