"""Tests against a real Phorge. They run when they are asked for: `make test-phorge`, see docs/testing.md."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from phorge.support.background import Background
from phorge.support.executing import CONDUIT, RUNNER, TASKMASTER, executor, install_extension
from phorge.support.given import NotGivenError, given
from phorge.support.install import BOT, Phorge, installed


@pytest.fixture(scope="session")
def phorge() -> Iterator[Phorge]:
    try:
        what = given()
    except NotGivenError as error:
        pytest.exit(str(error), returncode=2)
    # Told to end, by a time limit say, it still drops its databases and removes its folder.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with installed(what) as made:
        yield made


@pytest.fixture(scope="session", params=[TASKMASTER, RUNNER, CONDUIT])
def kind(request: pytest.FixtureRequest, phorge: Phorge) -> str:
    """PHP's own daemon, which says what is right, and the worker's two ways of having PHP execute a task."""
    kind: str = request.param
    if kind == CONDUIT:
        install_extension(phorge)
    return kind


@pytest.fixture
def empty(phorge: Phorge) -> Phorge:
    """Phorge with an empty queue, and with sinks that have received nothing yet."""
    phorge.queue.clear()
    phorge.mail.mails.clear()
    phorge.http.posts.clear()
    return phorge


@pytest.fixture
def executing(empty: Phorge, kind: str, tmp_path: Path) -> Iterator[Background]:
    """One of them at work on Phorge's queue, which is empty at first."""
    with executor(empty, kind, tmp_path / f"{kind}.log") as running:
        yield running
    running.show()
    if kind != TASKMASTER:
        assert running.process.returncode == 0, running.text
        assert not running.errors
        assert "Traceback" not in running.text
        assert empty.accounts[BOT].token not in running.text
