from __future__ import annotations

import subprocess
import sys

import gorge_worker


def test_everything_that_is_exported_exists() -> None:
    assert [name for name in gorge_worker.__all__ if not hasattr(gorge_worker, name)] == []


def test_importing_it_loads_no_network_and_no_database() -> None:
    code = "import gorge_worker, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "gorge_worker.handlers.marking" in loaded
    assert {"aiohttp", "yarl", "sqlite3", "uvloop", "click"} & set(loaded) == set()
