from __future__ import annotations

import json
from pathlib import Path

import click

from gorge_worker.cli.options import env_file_option, read_settings
from gorge_worker.config.settings import Settings
from gorge_worker.config.variables import Assignment

VALUE_WIDTH = 30
"""Characters; a longer value moves only its own line."""


@click.command(
    epilog="""\b
Examples:
  gorge-worker config
  gorge-worker config --env-file /etc/gorge-worker.env --json"""
)
@env_file_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def config(env_file: Path | None, *, as_json: bool) -> None:
    """Show the settings in effect.

    Each is shown with where it came from. Secrets are masked.
    """
    settings = read_settings(env_file)
    click.echo(_as_json(settings) if as_json else _as_table(settings))


def _as_table(settings: Settings) -> str:
    width = max(len(one.name) for one in settings)
    return "\n".join(f"{one.name:<{width}}  {one.shown:<{VALUE_WIDTH}}  {_came_from(one)}" for one in settings)


def _came_from(one: Assignment) -> str:
    return one.origin if one.spelling == one.name else f"{one.origin}, as {one.spelling}"


def _as_json(settings: Settings) -> str:
    shown = {one.name: {"value": one.shown, "origin": one.origin, "spelling": one.spelling} for one in settings}
    return json.dumps(shown, indent=2)
