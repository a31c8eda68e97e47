"""The head of a request: its first line and its headers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gorge_worker._version import __version__
from gorge_worker.http_client.origin import Origin

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
"""The methods whose answers the parser reads right: it does not know that HEAD and CONNECT have none of the usual."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, section 5.6.2)."""
_NOT_IN_VALUES = re.compile(r"[\r\n\0]")
_TARGET = re.compile(r"/[!-~]*")
_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""What the client itself says about a body."""


class Heads:
    """Writes the heads of requests to one origin. `headers` go into each. Raises ValueError for bad ones."""

    def __init__(self, origin: Origin, headers: Mapping[str, str]) -> None:
        own = {
            "Host": origin.authority,
            "User-Agent": f"gorge-worker/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
        }
        if origin.credentials:
            own["Authorization"] = origin.credentials
        self._path = origin.path
        self._lines = _lines(own) | _lines(headers)

    def write(self, method: str, path: str, headers: Mapping[str, str] | None, body: bytes | None) -> bytes:
        """A head, with the empty line that ends it. `path` is percent-encoded and may have a query; `headers` replace
        those of the same name that go into each request.

        Raises ValueError for what HTTP does not allow, or what this client does not do.
        """
        if method not in METHODS:
            raise ValueError(f"the method is none of {', '.join(sorted(METHODS))}")
        target = self._path + path
        if _TARGET.fullmatch(target) is None:
            raise ValueError("the path does not start with a slash, or is not percent-encoded")
        lines = self._lines | _lines(headers) if headers else self._lines
        # Without a length some servers wait for a body, or refuse the call (RFC 9110, section 8.6).
        length = "" if body is None and method == "GET" else f"Content-Length: {len(body or b'')}\r\n"
        head = f"{method} {target} HTTP/1.1\r\n{''.join(lines.values())}{length}\r\n"
        # A token from the environment need not be text in any encoding: it goes out byte for byte.
        return head.encode("utf-8", "surrogateescape")


def _lines(headers: Mapping[str, str]) -> dict[str, str]:
    """Header lines by the lower-case names."""
    lines = {}
    for name, value in headers.items():
        key = name.lower()
        if _NAME.fullmatch(name) is None or key in _FRAMING:
            raise ValueError("a header can't be sent: its name is not allowed")
        if _NOT_IN_VALUES.search(value):
            raise ValueError(f"the header {name} can't be sent: its value has a line break or a NUL character")
        lines[key] = f"{name}: {value}\r\n"
    return lines
