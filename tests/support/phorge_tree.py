"""Copies of the stand-in for Phorge, each with a configuration of its own."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

from support import mariadb

TREE = Path(__file__).with_name("phorge_tree")
EXTENSIONS = Path(__file__).parents[2] / "src" / "gorge_worker" / "phorge" / "extensions"

_CONFIGURATION = (
    "CREATE TABLE config_entry (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
    "CREATE TABLE config_transaction (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
)
_numbers = itertools.count(1)


class StandIn:
    """A Phorge at `root`, with arcanist beside it."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(TREE, folder)
        self.root = folder / "phorge"
        (self.root / "src" / "extensions").mkdir(exist_ok=True)
        self._options: dict[str, Any] = {}
        self.namespace = ""

    @property
    def configuration(self) -> Path:
        return self.root / "conf" / "local" / "local.json"

    def configure(self, **options: Any) -> None:
        """Sets options, with `__` for the dots and `_` for the dashes of their names."""
        self._options |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
        self.configuration.parent.mkdir(parents=True, exist_ok=True)
        self.configuration.write_text(json.dumps(self._options))

    def add_extension(self, name: str, text: str) -> None:
        (self.root / "src" / "extensions" / name).write_text(text)

    def install_extensions(self) -> None:
        for file in EXTENSIONS.glob("*.php"):
            shutil.copy(file, self.root / "src" / "extensions")

    def use_database(self) -> str:
        """Gives it databases on the test server; the URL of its queue."""
        server = mariadb.shared()
        self.namespace = f"standin{os.getpid()}x{next(_numbers)}"
        server.create_database(f"{self.namespace}_config")
        for statement in _CONFIGURATION:
            server.execute(statement, database=f"{self.namespace}_config")
        url = server.create_database(f"{self.namespace}_worker")
        self.configure(
            mysql__host="127.0.0.1",
            mysql__port=server.port,
            mysql__user=mariadb.USER,
            mysql__pass=mariadb.PASSWORD,
            storage__default_namespace=self.namespace,
        )
        return url
