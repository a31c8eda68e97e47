"""Every test here runs in the standard library's loop and in the product's."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from gorge_worker.http_client import pool


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def _loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "uvloop":
        monkeypatch.setattr(asyncio.events, "new_event_loop", uvloop.new_event_loop)


@pytest.fixture(autouse=True)
def _keep_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that should be closed for another reason must not be closed for having been idle."""
    monkeypatch.setattr(pool, "IDLE_CONNECTION", 3600.0)
