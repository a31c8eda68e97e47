"""`mysql://user:password@host:port/database`: the database's address, in SQLAlchemy's form, with PyMySQL's options."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec

from gorge_worker.errors import ConfigurationError

SCHEMES = ("mysql", "mariadb")
PORT = 3306
FORM = "expected mysql://user:password@host:3306/database"
OPTIONS = ("unix_socket", "ssl", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_identity")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class MysqlAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a database is. With `tls` the server's certificate is verified, against the authorities in `ssl_ca` or the
    system's, and its name too unless `verify_identity` is false. `ssl_cert` and `ssl_key` are the client's own.
    """

    user: str
    password: str
    host: str
    port: int = PORT
    database: str
    unix_socket: str = ""
    tls: bool = False
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""
    verify_identity: bool = True

    @property
    def shown(self) -> str:
        """The address for people, without the password."""
        place = self.unix_socket or (f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}")
        return f"{self.database} of {self.user} at {place}"

    def __repr__(self) -> str:
        return f"MysqlAddress({self.shown})"


def is_mysql(url: str) -> bool:
    """Whether a URL is meant for this package."""
    return url.partition(":")[0].lower() in SCHEMES


def mysql_address(url: str, token: str = "") -> MysqlAddress:
    """Reads a URL; `token` is the password where the URL has none.

    User, password and database are percent-decoded. Raises ConfigurationError, which repeats nothing of the URL's
    credentials.
    """
    try:
        parts = urlsplit(url)
        port = PORT if parts.port is None else parts.port
    except ValueError:
        raise ConfigurationError([f"not the URL of a database: {FORM}"]) from None
    if problem := _problem(url, parts, port):
        raise ConfigurationError([f"not the URL of a database, {problem}: {FORM}"])
    options = _options(parts.query)
    socket = options.get("unix_socket", "")
    if not parts.hostname and not socket:
        raise ConfigurationError([f"not the URL of a database, it names neither host nor unix_socket: {FORM}"])
    certificates = {name: options.get(name, "") for name in ("ssl_ca", "ssl_cert", "ssl_key")}
    return MysqlAddress(
        user=unquote(parts.username or ""),
        password=token if parts.password is None else unquote(parts.password),
        host=parts.hostname or "localhost",
        port=port,
        database=unquote(parts.path[1:]),
        unix_socket=socket,
        tls=_truth("ssl", options.get("ssl", "true" if any(certificates.values()) else "false")),
        verify_identity=_truth("ssl_verify_identity", options.get("ssl_verify_identity", "true")),
        **certificates,
    )


def _problem(url: str, parts: SplitResult, port: int) -> str | None:
    if not url.isprintable() or " " in url:
        return "it has a space or a control character (percent-encode it)"
    if parts.scheme.lower() not in SCHEMES:
        return "it does not begin with mysql://"
    if not url[len(parts.scheme) :].startswith("://"):
        return "there is no // after the scheme"
    faults = {
        "it names no user": not parts.username,
        "it names no database": not parts.path[1:] or "/" in parts.path[1:],
        "it has a # (write %23)": "#" in url,
        "its port must be from 1 to 65535": port == 0,
    }
    return next((text for text, present in faults.items() if present), None)


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ConfigurationError(["the database's URL has options that are not written as name=value"]) from None
    if unknown := [name for name, _ in pairs if name not in OPTIONS]:
        raise ConfigurationError(
            [f"the database's URL has an unknown option {unknown[0]!r:.40}: there are {', '.join(OPTIONS)}"]
        )
    return dict(pairs)


def _truth(name: str, text: str) -> bool:
    try:
        return _TRUTH[text.lower()]
    except KeyError:
        raise ConfigurationError([f"the database's URL has {name}={text!r:.20}: it takes true or false"]) from None
