"""The Makefile's own logic, with an interpreter that only pretends."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from deploy.dockerfile import ROOT

pytestmark = pytest.mark.needs("make")

OF_AN_OUTER_MAKE = {"ARGS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}
EVERYTHING = ["requirements/run.lock", "requirements/build.lock", "--editable"]
INTERPRETER = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
    *"-m venv "*)
        rm -rf {venv} && mkdir -p {venv}/bin
        ln -s "$0" {venv}/bin/python && cp "$0" {venv}/bin/gorge-worker && [ ! -e {log}.cut ] ;;
    *"install --require-hashes"*) [ ! -e {log}.cut ] ;;
esac
"""


class Checkout:
    """This checkout, with an environment of its own that a pretended interpreter makes and logs."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / "venv"
        self.log = folder / "log"
        self.cut = folder / "log.cut"
        self.interpreter = folder / "python"
        self.interpreter.write_text(INTERPRETER.format(log=self.log, venv=self.venv))
        self.interpreter.chmod(0o755)

    def make(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs make; the log then holds what this run called."""
        self.log.write_text("")
        variables = [f"VENV={self.venv}", f"PYTHON={self.interpreter}"]
        command = ["make", "--no-print-directory", "-C", str(ROOT), *variables, *words]
        # Under `make test` make's own variables are in the environment, and would be this run's too.
        environment = {name: value for name, value in os.environ.items() if name not in OF_AN_OUTER_MAKE}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    @property
    def installed(self) -> list[str]:
        """What the last run installed."""
        return re.findall(r"requirements/\w+\.lock|--editable", self.log.read_text())

    @property
    def started(self) -> bool:
        return self.log.read_text().rstrip().rpartition("\n")[2].startswith("standalone")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_make_alone_lists_every_target(checkout: Checkout) -> None:
    listed = re.findall(r"^ +make ([\w-]+)", checkout.make().stdout, re.MULTILINE)
    phony = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed == phony[0].split()
    assert {"help", "run", "test", "lint", "format", "bench", "clean"} <= set(listed)


def test_run_makes_the_environment_and_starts_the_worker(checkout: Checkout) -> None:
    assert checkout.make("run", "ARGS=--data elsewhere").returncode == 0
    assert checkout.installed == EVERYTHING
    assert checkout.log.read_text().endswith("standalone --data elsewhere\n")


def test_the_second_run_installs_nothing(checkout: Checkout) -> None:
    checkout.make("run")
    checkout.make("run")
    assert checkout.log.read_text() == "standalone\n"


def test_an_installation_that_was_cut_short_is_done_again(checkout: Checkout) -> None:
    checkout.make("run")
    (checkout.venv / "installed-run").unlink()
    checkout.cut.touch()
    assert checkout.make("run").returncode != 0
    assert not checkout.started
    checkout.cut.unlink()
    assert checkout.make("run").returncode == 0
    assert checkout.installed == EVERYTHING
    assert checkout.started


@pytest.mark.parametrize("changed", ["requirements/run.lock", "pyproject.toml", "src/gorge_worker/_version.py"])
def test_what_an_installation_depends_on_is_installed_anew_when_it_changes(checkout: Checkout, changed: str) -> None:
    checkout.make("run")
    checkout.make("run", f"--what-if={changed}")
    assert "requirements/run.lock" in checkout.installed
    assert checkout.started


def test_an_environment_whose_python_has_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.make("run")
    python = checkout.venv / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert checkout.make("run").returncode == 0
    assert "-m venv" in checkout.log.read_text()
    assert checkout.installed == EVERYTHING


def test_an_environment_that_was_left_half_made_is_made_anew(checkout: Checkout) -> None:
    checkout.cut.touch()
    assert checkout.make("run").returncode != 0
    assert (checkout.venv / "bin" / "python").exists()
    checkout.cut.unlink()
    assert checkout.make("run").returncode == 0
    assert "-m venv" in checkout.log.read_text()
    assert checkout.installed == EVERYTHING


def test_a_python_that_is_not_there_is_named(checkout: Checkout) -> None:
    done = checkout.make("run", "PYTHON=/nowhere/python3")
    assert done.returncode != 0
    assert "No /nowhere/python3 here: install Python 3.11 or later" in done.stderr


def test_a_python_that_is_too_old_is_refused_with_its_version(checkout: Checkout) -> None:
    checkout.interpreter.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\n')
    done = checkout.make("run")
    assert done.returncode != 0
    assert "is Python 3.9.2, Python 3.11 or later is needed" in done.stderr
    assert not checkout.venv.exists()


def test_a_python_that_makes_no_environments_names_debians_package(checkout: Checkout) -> None:
    checkout.interpreter.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\n')
    done = checkout.make("run")
    assert done.returncode != 0
    assert "apt-get install python3-venv" in done.stderr


def test_development_tools_come_from_their_own_lock(checkout: Checkout) -> None:
    checkout.make("test")
    assert checkout.installed == ["requirements/dev.lock", "--editable"]


def test_cleaning_spares_the_users_tasks(checkout: Checkout) -> None:
    removed = checkout.make("--dry-run", "clean").stdout
    assert str(checkout.venv) in removed
    assert not re.search(r"\bdata\b", removed)
