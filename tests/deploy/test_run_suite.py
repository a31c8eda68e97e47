"""scripts/run_suite.py: a case that fails is given one more chance, alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from deploy.dockerfile import ROOT

PASSES = "def test_passes() -> None: ...\n"
FAILS = "def test_fails() -> None:\n    assert False\n"
FLAKES = """
import pathlib
import pytest

@pytest.mark.parametrize("name", ["a b", "a-b"])
def test_flakes(name, request):
    before = pathlib.Path(f"{request.node.path}.{name}")
    if not before.exists():
        before.touch()
        raise AssertionError("the first time")
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    return tmp_path


def run(suite: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/run_suite.py"), str(suite), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_suite_that_passes_is_run_once(suite: Path) -> None:
    (suite / "test_it.py").write_text(PASSES)
    done = run(suite)
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "once more" not in done.stdout


def test_cases_that_pass_alone_do_not_fail_the_run(suite: Path) -> None:
    (suite / "test_it.py").write_text(PASSES + FLAKES)
    done = run(suite)
    assert done.returncode == 0, done.stdout
    assert "2 failed, 1 passed" in done.stdout
    assert done.stdout.count("once more, alone:") == 2
    assert "no case failed twice" in done.stdout


def test_a_case_that_fails_twice_fails_the_run_and_is_named(suite: Path) -> None:
    (suite / "test_it.py").write_text(FLAKES + FAILS)
    done = run(suite)
    assert done.returncode == 1
    named = done.stdout.partition("failed twice:")[2]
    assert "test_it.py::test_fails" in named
    assert "test_flakes" not in named


def test_options_choose_the_cases(suite: Path) -> None:
    (suite / "test_it.py").write_text(PASSES + FAILS)
    assert run(suite, "-k", "passes").returncode == 0


def test_a_suite_that_can_not_be_run_is_not_repeated(suite: Path) -> None:
    (suite / "test_it.py").write_text("import nothing_of_that_name\n")
    done = run(suite)
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert "once more" not in done.stdout


def test_a_suite_without_cases_is_no_success(suite: Path) -> None:
    assert run(suite).returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_broken_product_is_not_tried_case_by_case(suite: Path) -> None:
    (suite / "test_it.py").write_text("".join(FAILS.replace("fails", f"fails_{n}") for n in range(11)))
    done = run(suite)
    assert done.returncode == 1
    assert "once more" not in done.stdout
