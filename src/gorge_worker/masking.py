"""Hiding secrets in texts that may hold one, however it got in there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

MASK = "***"
"""Stands for a secret wherever one would be shown."""
SHORTEST_SECRET = 4
"""Characters; masking something shorter would garble a text more than it would hide."""


class Masking:
    """Masks the given secrets in every text, also where they are quoted for a URL, for JSON or for Python."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {
            spelling
            for secret in secrets
            if len(secret) >= SHORTEST_SECRET
            for spelling in (
                secret,
                _quoted(secret),
                repr(secret)[1:-1],
                json.dumps(secret)[1:-1],
            )
        }
        # Of two secrets of which one begins with the other, the whole longer one is masked.
        alternatives = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
        self._secret = re.compile(alternatives) if alternatives else None

    def hide(self, text: str) -> str:
        return text if self._secret is None else self._secret.sub(MASK, text)


def _quoted(secret: str) -> str:
    try:
        return quote(secret, safe="", errors="surrogateescape")
    except UnicodeEncodeError:  # no bytes stand for it, so no URL can hold it
        return secret
