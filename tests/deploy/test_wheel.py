"""What is installed from: the wheel holds every file of the package, PHP files too."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from deploy.dockerfile import ROOT

SOURCE = ROOT / "src"


def test_it_holds_every_file_of_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("gorge_worker/")}
    there = (path for path in (SOURCE / "gorge_worker").rglob("*") if path.is_file())
    expected = {str(path.relative_to(SOURCE)) for path in there if "__pycache__" not in path.parts}
    assert any(name.endswith(".php") for name in expected)
    assert packed == expected
