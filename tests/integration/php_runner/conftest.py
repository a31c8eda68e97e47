from __future__ import annotations

from pathlib import Path

import pytest
from support.phorge_tree import StandIn


@pytest.fixture
def phorge(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "host")
