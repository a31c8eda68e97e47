"""The command line: one module a command, imported when it is asked for.

Exit codes: 0, 1 for what failed, 2 for misuse and for settings that can't be used.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from gorge_worker._version import __version__
from gorge_worker.errors import ConfigurationError, GorgeWorkerError

COMMANDS = ("run", "standalone", "queue", "enqueue", "health", "config", "phorge")
"""In the order in which a new user needs them. Each is the command of that name in the module of that name."""

FAILED = 1
MISUSED = 2


class LazyGroup(click.Group):
    """Imports a command's module when the command is needed, and turns the product's own errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"gorge_worker.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GorgeWorkerError as error:
            for line in str(error).splitlines():
                click.echo(f"gorge-worker: {line}", err=True)
            ctx.exit(MISUSED if isinstance(error, ConfigurationError) else FAILED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  gorge-worker standalone                       try everything, with nothing to set up
  gorge-worker enqueue PhabricatorMetaMTAWorker 5
  CONDUIT_URL=https://phorge.example.com gorge-worker run

Settings are environment variables; `gorge-worker config` lists them.""",
)
@click.version_option(__version__, prog_name="gorge-worker")
def main() -> None:
    """Run Phorge's background tasks: lease them, execute them, report every outcome."""
