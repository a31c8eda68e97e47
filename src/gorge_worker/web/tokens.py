"""The service tokens of an API."""

from __future__ import annotations

import hashlib
import hmac


class Tokens:
    """What SERVICE_TOKEN holds: one token, or several separated by commas while they are being rotated.

    The items are stripped and empty ones never match; the whole value counts as one more token, so that an old token
    with a comma in it goes on working (worker-http contract). False when there is none, which means no auth.
    """

    def __init__(self, service_token: str) -> None:
        items = {stripped for item in service_token.split(",") if (stripped := item.strip())}
        if service_token:
            items.add(service_token)
        self._digests = [_digest(item) for item in items]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accept(self, offered: str) -> bool:
        """Whether a caller's token is one of them, found out in a time that tells nothing about them."""
        digest = _digest(offered)
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return any(matches)


def _digest(token: str) -> bytes:
    # Of equal length whatever the token's; surrogateescape because a token need not be text in any encoding.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
