"""The configuration of the copy."""

from __future__ import annotations

import json
from pathlib import Path

from phorge.support.given import Server


def configure(root: Path, server: Server, *, namespace: str, base: str, hook: str, smtp_port: int) -> None:
    """Writes conf/local/local.json. What Phorge writes goes below the folder that holds the copy; it listens at
    `base`, posts feed stories to `hook`, and hands mail to a port of loopback.
    """
    folder = root.parent
    for name in ("repositories", "logs", "files"):
        (folder / name).mkdir()
    settings = {
        "mysql.host": server.host,
        "mysql.port": str(server.port),
        "mysql.user": server.user,
        "mysql.pass": server.password,
        "storage.default-namespace": namespace,
        "storage.local-disk.path": str(folder / "files"),
        "phabricator.base-uri": base,
        "phabricator.show-prototypes": True,
        "phd.taskmasters": 0,
        "phd.log-directory": str(folder / "logs"),
        "feed.http-hooks": [hook],
        # The sinks and the repository are at addresses to which Phorge does not connect unless told.
        "security.outbound-blacklist": [],
        "cluster.mailers": [
            {
                "key": "sink",
                "type": "smtp",
                "options": {"host": "127.0.0.1", "port": smtp_port},
            }
        ],
        "metamta.default-address": "phorge@mail.invalid",
        "repository.default-local-path": str(folder / "repositories"),
    }
    local = root / "conf/local/local.json"
    local.parent.mkdir(exist_ok=True)
    local.write_text(json.dumps(settings, indent=2))
