from __future__ import annotations

from pathlib import Path

import pytest
from stores.factories import LASTING, STORES, Place, params


@pytest.fixture(params=params(STORES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Every store in turn."""
    return Place(STORES[request.param], tmp_path)


@pytest.fixture(params=params(LASTING))
def lasting_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Every store that keeps its tasks from one process to the next."""
    return Place(STORES[request.param], tmp_path)
