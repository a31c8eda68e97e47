"""A program that goes on running beside the suite, with its log in a file."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ENDS_WITHIN = 30.0
"""Seconds in which a program that was told to end has to do so."""
DEATH_SIGNAL = 1
"""prctl's PR_SET_PDEATHSIG."""


class Background:
    """`with Background(...)`: started at once, told to end by SIGTERM at the end. What does not end, and what it leaves
    behind, is killed. It has a session of its own, so that nothing else is hit.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        settings: Mapping[str, str] | None = None,
        folder: Path | None = None,
        stdin: bytes = b"",
    ) -> None:
        self.log = log
        given = log.with_suffix(".stdin")
        given.write_bytes(stdin)
        with log.open("ab") as out, given.open("rb") as source:
            self.process = subprocess.Popen(
                command,
                stdin=source,
                stdout=out,
                stderr=out,
                cwd=folder,
                env={**_environment(), **(settings or {})},
                start_new_session=True,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - the suite forks from its main thread alone
            )

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The lines of the worker's log that are errors, but for what it says of tasks that fail for good."""
        events = [json.loads(line) for line in self.text.splitlines() if line.startswith("{")]
        return [one for one in events if one["level"] == "error" and one["event"] != "task executed"]

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def show(self) -> None:
        """Prints the end of its log; pytest shows that where a test fails."""
        print(f"--- {self.log.name}\n{self.text[-6000:]}")  # noqa: T201

    def assert_runs(self) -> None:
        assert not self.ended, f"{self.log.name} ended with {self.process.returncode}:\n{self.text[-3000:]}"

    def end(self) -> int:
        """Tells it to end and returns its exit code. Raises AssertionError when it had to be killed."""
        if not self.ended:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.log.name} did not end:\n{self.text[-3000:]}") from None
        finally:
            # The workers of `php -S` do not end with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if kind is not None:
            self.show()


def _environment() -> dict[str, str]:
    """Without the suite's own variables, which are the product's too."""
    kept = ("PATH", "HOME", "LANG", "LOGNAME", "USER", "TMPDIR", "PYTHONPATH")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGTERM)
