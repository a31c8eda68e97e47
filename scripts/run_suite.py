"""Runs a pytest suite one case after the other, and what fails once more, alone.

    python scripts/run_suite.py SUITE [pytest options]

For suites that watch real processes against the clock on a machine with other work: a case that passes alone was
hurt by the load, one that fails twice is broken. Exits with 0, 1 for cases that failed twice, or pytest's own code
when the suite could not be run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOST_REPEATED = 10
"""More failures than this are no accident of the load: repeating them would only take time."""


class Failures:
    """A pytest plugin that remembers which cases failed, as arguments to run them again."""

    def __init__(self) -> None:
        self.cases: list[str] = []
        self._root = Path()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._root = session.config.rootpath

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        case = f"{self._root}/{report.nodeid}"
        if report.failed and case not in self.cases:
            self.cases.append(case)


def fails_again(case: str) -> bool:
    print(f"\nonce more, alone: {case}", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", "-q", case], stdin=subprocess.DEVNULL, check=False)
    return again.returncode != pytest.ExitCode.OK


def main(arguments: list[str]) -> int:
    failures = Failures()
    code = pytest.main(arguments, plugins=[failures])
    if code != pytest.ExitCode.TESTS_FAILED:
        return int(code)
    if len(failures.cases) > MOST_REPEATED:
        print(f"\n{len(failures.cases)} cases failed: too many to be repeated")
        return 1
    twice = [case for case in failures.cases if fails_again(case)]
    print("\nfailed twice:" if twice else "\nno case failed twice", *twice, sep="\n  ")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
