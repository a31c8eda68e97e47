"""The systemd units, as systemd itself reads them."""

from __future__ import annotations

import configparser
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from deploy.dockerfile import ROOT
from deploy.settings import default

UNIT = ROOT / "deploy" / "gorge-worker.service"
PHORGE_UNIT = ROOT / "deploy" / "gorge-worker-phorge.service"
UNITS = [UNIT, PHORGE_UNIT]
MOST_EXPOSED = 20
"""Tenths: systemd calls a service below 2.0 well protected."""


def read(path: Path) -> configparser.SectionProxy:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names are case-sensitive
    unit.read(path)
    return unit["Service"]


@pytest.fixture(params=UNITS, ids=lambda unit: unit.stem)
def service(request: pytest.FixtureRequest) -> configparser.SectionProxy:
    return read(request.param)


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_understands_every_line(tmp_path: Path, unit: Path) -> None:
    """With a program and a user that exist: systemd looks for them too."""
    copy = tmp_path / unit.name
    text = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text())
    copy.write_text(re.sub(r"(?m)^User=\S+", "User=daemon", text))
    command = ["systemd-analyze", "verify", str(copy)]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")


@pytest.mark.needs("systemd-analyze")
def test_systemd_finds_it_well_protected() -> None:
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(UNIT)]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout


def test_systemd_waits_longer_than_running_tasks_may_take(service: configparser.SectionProxy) -> None:
    assert int(service["TimeoutStopSec"]) >= int(default("DRAIN_TIMEOUT_SEC")) + 5


def test_only_the_worker_itself_is_told_to_stop(service: configparser.SectionProxy) -> None:
    assert (service["KillSignal"], service["KillMode"]) == ("SIGTERM", "mixed")


def test_it_is_started_again_unless_its_settings_are_wrong(service: configparser.SectionProxy) -> None:
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("on-failure", "2")


def test_its_settings_are_required_and_no_secret_stands_in_the_unit(service: configparser.SectionProxy) -> None:
    assert service["EnvironmentFile"].startswith("/")
    assert "Environment" not in service


def test_it_starts_the_worker(service: configparser.SectionProxy) -> None:
    path, *arguments = shlex.split(service["ExecStart"])
    assert Path(path).name == "gorge-worker"
    assert arguments == ["run"]


def test_a_worker_without_php_writes_nowhere_but_into_its_own_state_folder() -> None:
    service = read(UNIT)
    assert service["ProtectSystem"] == "strict"
    assert service["WorkingDirectory"] == f"%S/{service['StateDirectory']}"
    assert "ReadWritePaths" not in service


def test_what_phorges_tasks_need_is_left_to_them() -> None:
    service = read(PHORGE_UNIT)
    assert service["User"] == "phd", "as the documentation says"
    assert not {"DynamicUser", "NoNewPrivileges", "MemoryDenyWriteExecute", "SystemCallFilter"} & set(service)
    assert service["ProtectSystem"] != "strict", "repositories are anywhere"
