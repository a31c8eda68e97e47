"""`sqlite:///path`: the database's address, in SQLAlchemy's form."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

from gorge_worker.errors import ConfigurationError

PREFIX = "sqlite:///"
FORM = "expected sqlite:///relative/path or sqlite:////absolute/path"


def sqlite_path(url: str) -> Path:
    """The path in a URL: `sqlite:///relative/path` or `sqlite:////absolute/path`, percent-decoded.

    Raises ConfigurationError. What stands before the path is not repeated in it: it may be a password.
    """
    if url[: len(PREFIX)].lower() != PREFIX:
        raise ConfigurationError([f"not the URL of an SQLite database: {FORM}"])
    text = url[len(PREFIX) :]
    if "?" in text or "#" in text:
        raise ConfigurationError([f"{url}: there are no options; in a path write %3F for ? and %23 for #"])
    path = os.fsdecode(unquote_to_bytes(text))
    if not path.strip("/") or "\0" in path or path == ":memory:":
        raise ConfigurationError([f"{url} names no file: {FORM}"])
    return Path(path)
