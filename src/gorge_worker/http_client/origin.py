"""Where calls go: what a base URL says about it."""

from __future__ import annotations

import base64
import ssl

import msgspec
from yarl import URL


class Origin(msgspec.Struct, frozen=True):
    """A server, and the part of it that a base URL names.

    `host` has no brackets, `path` no slash at its end. `authority` is the Host header, `credentials` the Authorization
    header, empty for none. `tls` is None for plain HTTP.
    """

    host: str
    port: int
    path: str
    authority: str
    credentials: str
    tls: ssl.SSLContext | None

    @classmethod
    def of(cls, base_url: str) -> Origin:
        """Raises ValueError, which may quote the URL and so must not be shown."""
        url = URL(base_url)
        if url.scheme not in {"http", "https"} or not url.raw_host or not url.port or not url.host_port_subcomponent:
            raise ValueError(base_url)
        return cls(
            host=url.raw_host,
            port=url.port,
            path=url.raw_path.rstrip("/"),
            authority=url.host_port_subcomponent,
            credentials=_basic(url),
            tls=_tls() if url.scheme == "https" else None,
        )


def _basic(url: URL) -> str:
    if url.user is None and url.password is None:
        return ""
    pair = f"{url.user or ''}:{url.password or ''}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
