"""What the suite is given: a Phorge to copy and a database server to fill, by two variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

HELP = """Two variables say what to test against:
  PHORGE_ROOT      a checkout of Phorge, with arcanist beside it; it is copied and never changed
  PHORGE_DATABASE  a MySQL or MariaDB server, e.g. mysql://root@127.0.0.1:3306/; databases of the suite's own
                   are created there and dropped at the end
See docs/testing.md."""


class NotGivenError(Exception):
    """A variable is missing or can't be used; the message is for the person who set it."""


@dataclass(frozen=True)
class Server:
    """A database server, and who may create databases there."""

    host: str
    port: int
    user: str
    password: str

    def url(self, database: str) -> str:
        """A database there in the form that TASK_QUEUE_URL has."""
        password = f":{quote(self.password, safe='')}" if self.password else ""
        return f"mysql://{quote(self.user, safe='')}{password}@{self.host}:{self.port}/{database}"


@dataclass(frozen=True)
class Given:
    root: Path
    arcanist: Path
    server: Server


def given(environment: Mapping[str, str] = os.environ) -> Given:
    """Reads the two variables. Raises NotGivenError."""
    root, url = environment.get("PHORGE_ROOT", ""), environment.get("PHORGE_DATABASE", "")
    if not root or not url:
        raise NotGivenError(HELP)
    folder = Path(root).resolve()
    arcanist = folder.parent / "arcanist"
    for path in (folder / "scripts/init/init-script.php", arcanist / "support/init/init-script.php"):
        if not path.is_file():
            raise NotGivenError(f"PHORGE_ROOT={root} can't be used: there is no {path}\n{HELP}")
    return Given(folder, arcanist, _server(url))


def _server(url: str) -> Server:
    try:
        parts = urlsplit(url)
        port = parts.port or 3306
    except ValueError:
        raise NotGivenError(f"PHORGE_DATABASE is not a URL\n{HELP}") from None
    if parts.scheme not in {"mysql", "mariadb"} or not parts.hostname or not parts.username:
        raise NotGivenError(f"PHORGE_DATABASE has to be mysql://user:password@host:port/\n{HELP}")
    if parts.path not in {"", "/"}:
        raise NotGivenError(f"PHORGE_DATABASE names a server and no database: leave out {parts.path}\n{HELP}")
    return Server(parts.hostname, port, unquote(parts.username), unquote(parts.password or ""))
