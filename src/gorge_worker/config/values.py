"""Single values as people write them: addresses and URLs, read strictly and shown without their secrets.

Every reader raises ValueError for what it does not accept; what it does accept is described by its caller.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import unquote, urlsplit

import msgspec

from gorge_worker.errors import ConfigurationError
from gorge_worker.masking import MASK
from gorge_worker.queues.mysql.url import is_mysql, mysql_address, mysql_options

LARGEST_PORT = 65535

_ADDRESS = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[A-Za-z0-9._-]*)):(?P<port>[0-9]{1,5})")
_BEYOND_HOST = re.compile(r"[/?#]")
_QUERY = re.compile(r"([?#]).*", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Refused(ValueError):
    """A value that is refused for a reason that its expected form does not tell; the text repeats no secret."""


class ListenAddress(msgspec.Struct, frozen=True):
    """Where a server listens. `host` is None for every interface, IPv4 and IPv6."""

    host: str | None
    port: int

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """Reads `:8170`, `127.0.0.1:8170`, `localhost:8170` or `[::1]:8170`. Raises ValueError."""
        found = _ADDRESS.fullmatch(text)
        if found is None or not 0 < int(found["port"]) <= LARGEST_PORT:
            raise ValueError(text)
        if found["ipv6"]:
            return cls(str(ipaddress.IPv6Address(found["ipv6"])), int(found["port"]))
        return cls(found["host"] or None, int(found["port"]))

    @property
    def loopback(self) -> bool:
        """True when only programs on this machine can reach it."""
        if self.host is None:
            return False
        return is_loopback(self.host)

    @property
    def reachable_host(self) -> str:
        """A host, as a URL has it, at which a client on this machine reaches this server."""
        host = {None: "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - the client's side
        return f"[{host}]" if host is not None and ":" in host else str(host)

    def __str__(self) -> str:
        host = self.host or ""
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine's loopback."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def parse_http_url(text: str) -> str:
    """A URL with http or https and a host, as it was written. Raises ValueError."""
    # urlsplit silently drops tabs and line breaks, so what it returns does not show them.
    if not text.isprintable() or " " in text:
        raise ValueError(text)
    url = urlsplit(text)
    if url.scheme not in {"http", "https"} or not url.hostname or url.port == 0:
        raise ValueError(text)
    return text


def parse_base_url(text: str) -> str:
    """An http or https URL that paths can be appended to: without a query and a fragment. Raises ValueError."""
    if "?" in text or "#" in text:
        raise ValueError(text)
    return parse_http_url(text)


def parse_store_url(text: str) -> str:
    """`sqlite:///` with a path behind it, or the URL of a MySQL or MariaDB database. Raises ValueError."""
    if is_mysql(text):
        try:
            mysql_address(text)
        except ConfigurationError as error:
            raise Refused(str(error)) from None
        return text
    if not text.startswith("sqlite:///") or text.endswith("/") or not text.isprintable():
        raise ValueError(text)
    return text


def parse_queue_url(text: str) -> str:
    """Where tasks come from: a queue server's base URL or a store's URL. Raises ValueError."""
    return parse_store_url(text) if is_store_url(text) else parse_base_url(text)


def is_store_url(text: str) -> bool:
    """Whether a queue's URL names a store that this process opens itself, rather than a queue server."""
    return text.startswith("sqlite:") or is_mysql(text)


def mask_url(text: str) -> str:
    """A URL, or what somebody took for one, without user credentials, query and fragment.

    A malformed URL may hold a password too, so everything before the last `@` counts as credentials. A user without
    a password may be a token and is masked as well. A database's user and options are no secrets.
    """
    scheme, user, password, rest = _split_credentials(text)
    shown = rest if is_mysql(text) and _has_known_options(rest) else _QUERY.sub(rf"\1{MASK}", rest, count=1)
    if not user and not password:
        return shown
    if _BEYOND_HOST.search(user) or not (password or is_mysql(text)):
        return f"{scheme}{MASK}@{shown}"
    return f"{scheme}{user}:{MASK}@{shown}" if password else f"{scheme}{user}@{shown}"


def url_secrets(text: str) -> list[str]:
    """What of a URL's credentials must not show up anywhere, as written and percent-decoded."""
    _, user, password, _ = _split_credentials(text)
    secret = password or ("" if is_mysql(text) else user)
    return list({secret, unquote(secret)}) if secret else []


def _has_known_options(rest: str) -> bool:
    """Whether a database's URL has, behind its credentials, nothing but a place and options that there are."""
    place, _, query = rest.partition("?")
    try:
        mysql_options(query)
    except ConfigurationError:
        return False
    return "#" not in place + query


def _split_credentials(text: str) -> tuple[str, str, str, str]:
    """Scheme with its slashes, user, password, and what follows the last `@`; the whole text without one."""
    credentials, _, rest = text.rpartition("@")
    scheme = found[0] if (found := _SCHEME.match(credentials)) else ""
    user, _, password = credentials.removeprefix(scheme).partition(":")
    return scheme, user, password, rest
