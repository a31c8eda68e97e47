from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import click

from gorge_worker.cli.options import Function, read_settings
from gorge_worker.errors import GorgeWorkerError
from gorge_worker.phorge.checkout import check_arcanist
from gorge_worker.phorge.installation import Installation, State

DONE = {
    State.CURRENT: "already current",
    State.DIFFERS: "updated",
    State.MISSING: "installed",
    State.LEFT_OVER: "removed, this version has no such file",
}
SEEN = {
    State.CURRENT: "current",
    State.DIFFERS: "differs",
    State.MISSING: "missing",
    State.LEFT_OVER: "left over, this version has no such file",
    State.IN_THE_WAY: "in the way",
}


class NotCurrent(GorgeWorkerError):
    """What is installed is not what this version would install."""


def root_option(command: Function) -> Function:
    return click.option(
        "--root",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Phorge's folder.  [default: PHORGE_ROOT if set, else it must be named]",
    )(command)


@click.group(
    epilog="""\b
Examples:
  gorge-worker phorge install --root /srv/phorge
  gorge-worker phorge check --root /srv/phorge
  gorge-worker phorge uninstall --root /srv/phorge"""
)
def phorge() -> None:
    """Prepare a Phorge for workers that call it.

    They call `worker.execute`, a Conduit method that Phorge does not have by itself.
    """


@phorge.command(
    epilog="""\b
Examples:
  gorge-worker phorge install --root /srv/phorge
  sudo gorge-worker phorge install --root /srv/phorge
  gorge-worker phorge install --root /srv/phorge --check"""
)
@root_option
@click.option("--check", "only_check", is_flag=True, help="Change nothing: do what `gorge-worker phorge check` does.")
def install(root: Path | None, *, only_check: bool) -> None:
    """Install the method `worker.execute`.

    Its PHP files go into src/extensions/ below DIR, and replace those of other versions, with whatever was changed in
    them. Do this again after each upgrade of gorge-worker.
    """
    root = _root(root)
    if only_check:
        _check(root)
    else:
        _install(root)


@phorge.command(
    epilog="""\b
Examples:
  gorge-worker phorge check --root /srv/phorge
  PHORGE_ROOT=/srv/phorge gorge-worker phorge check"""
)
@root_option
def check(root: Path | None) -> None:
    """Compare what is installed with this version.

    Nothing is changed. The exit code is 0 if every file is current, and 1 otherwise.
    """
    _check(_root(root))


@phorge.command(
    epilog="""\b
Examples:
  gorge-worker phorge uninstall --root /srv/phorge
  sudo gorge-worker phorge uninstall --root /srv/phorge"""
)
@root_option
def uninstall(root: Path | None) -> None:
    """Remove what `install` has installed.

    Files of other versions go too. Nothing else in src/extensions/ is touched.
    """
    root = _root(root)
    installation = Installation(root)
    names = installation.uninstall()
    if not names:
        click.echo(f"There is nothing to remove in {click.format_filename(installation.folder)}.")
        return
    _print_table(installation, [(name, "removed") for name in names])
    click.echo(
        f"\nNext:\n  1. Reload PHP-FPM or the web server, so that it forgets them.\n"
        f"  2. If callers were configured: {_config(root)} delete gorge-worker.callers"
    )


def _install(root: Path) -> None:
    installation = Installation(root)
    found = installation.install()
    _print_table(installation, [(one.name, DONE[one.state]) for one in found])
    click.echo(
        f"\nNext, unless done before:\n"
        f"  1. Name the accounts whose tokens may have tasks executed, normally one bot:\n"
        f"     {_config(root)} set gorge-worker.callers '[\"USERNAME\"]'\n"
        f"  2. Reload PHP-FPM or the web server, so that it loads the files."
    )
    _warn_without_arcanist(root)


def _check(root: Path) -> None:
    installation = Installation(root)
    found = installation.look()
    _print_table(
        installation,
        [(one.name, f"{SEEN[one.state]}, {one.obstacle}" if one.obstacle else SEEN[one.state]) for one in found],
    )
    _warn_without_arcanist(root)
    if stale := [one for one in found if one.state is not State.CURRENT]:
        first = "move away what is in the way, then" if any(one.obstacle for one in stale) else "to put that right:"
        raise NotCurrent(
            f"{len(stale)} of {len(found)} files are not as they should be;"
            f" {first} gorge-worker phorge install --root {shlex.quote(str(root))}"
        )


def _root(root: Path | None) -> Path:
    """What the option says, else what the settings say. Raises ConfigurationError, click.UsageError."""
    root = root or read_settings().phorge_root
    if root is None:
        raise click.UsageError("name Phorge's folder with --root, or set PHORGE_ROOT")
    return root


def _config(root: Path) -> str:
    return shlex.quote(click.format_filename(root / "bin" / "config"))


def _print_table(installation: Installation, rows: Iterable[tuple[str, str]]) -> None:
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    click.echo(f"In {click.format_filename(installation.folder)}:")
    for name, said in rows:
        click.echo(f"  {name:<{width}}  {said}")


def _warn_without_arcanist(root: Path) -> None:
    if reason := check_arcanist(root):
        click.echo(f"gorge-worker: warning: {reason}", err=True)
