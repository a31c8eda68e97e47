from __future__ import annotations

from urllib.parse import urlsplit

import click

from gorge_worker.cli.http import call
from gorge_worker.cli.options import Value, read_settings
from gorge_worker.config.kinds import HTTP_URL
from gorge_worker.config.settings import Settings
from gorge_worker.config.values import mask_url
from gorge_worker.errors import GorgeWorkerError

TIMEOUT = 5.0
"""Seconds; a worker whose event loop is so late is not healthy."""
OK = 200


@click.command(
    epilog="""\b
Examples:
  gorge-worker health
  gorge-worker health http://127.0.0.1:8090"""
)
@click.argument("url", required=False, type=Value(HTTP_URL, "URL"))
def health(url: str | None) -> None:
    """Ask whether a server lives.

    The exit code is 0 if it does, and 1 if it does not, with the reason.

    URL is a worker, a queue server, or a path on one; by default it is this machine's worker, at LISTEN_ADDR.
    """
    asked = _with_path(url or _own_url(read_settings()))
    answer = call("GET", asked, timeout=TIMEOUT)
    if answer.status != OK:
        raise GorgeWorkerError(f"{mask_url(asked)} is not healthy: {answer.reason()}")
    click.echo(f"{mask_url(asked)} is healthy")


def _own_url(settings: Settings) -> str:
    return f"http://{settings.listen_addr.reachable_host}:{settings.listen_addr.port}"


def _with_path(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(path="/healthz").geturl() if parts.path in {"", "/"} else url
