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
    options = mysql_options(parts.query)
    socket = options.get("unix_socket", "")
    if not parts.hostname and not socket:
        raise ConfigurationError([f"not the URL of a database, it names neither host nor unix_socket: {FORM}"])
    certificates = {name: options.get(name, "") for name in ("ssl_ca", "ssl_cert", "ssl_key")}
    verify_identity = _truth(options, "ssl_verify_identity", unset=True)
    wants_tls = any(certificates.values()) or (verify_identity and "ssl_verify_identity" in options)
    tls = _truth(options, "ssl", unset=wants_tls)
    if wants_tls and not tls:
        raise ConfigurationError(["the database's URL has ssl=false, and options of TLS beside it"])
    if certificates["ssl_key"] and not certificates["ssl_cert"]:
        raise ConfigurationError(["the database's URL has an ssl_key without its ssl_cert"])
    return MysqlAddress(
        user=_decoded("user", parts.username or ""),
        password=token if parts.password is None else _decoded("password", parts.password),
        host=parts.hostname or "localhost",
        port=port,
        database=_decoded("database", parts.path[1:]),
        unix_socket=socket,
        tls=tls,
        verify_identity=verify_identity,
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
        # A password that was not percent-encoded would show in what is taken for a path or an option.
        "it has an @ behind its host (write %40)": "@" in parts.path + parts.query,
        "it has a # (write %23)": "#" in url,
        "its port must be from 1 to 65535": port == 0,
    }
    return next((text for text, present in faults.items() if present), None)


def mysql_options(query: str) -> dict[str, str]:
    """The options in a URL's query. Raises ConfigurationError for one that there is not, that comes twice or empty."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict") if query else []
    except ValueError:
        raise ConfigurationError(["the database's URL has options that are not written as name=value"]) from None
    if unknown := [name for name, _ in pairs if name not in OPTIONS]:
        raise ConfigurationError(
            [f"the database's URL has an unknown option {unknown[0]!r:.40}: there are {', '.join(OPTIONS)}"]
        )
    options = dict(pairs)
    if len(options) < len(pairs):
        raise ConfigurationError(["the database's URL has one of its options twice"])
    if not all(options.values()):
        raise ConfigurationError(["the database's URL has an option without a value"])
    return options


def _decoded(part: str, text: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ConfigurationError([f"the database's URL has a {part} that is not UTF-8"]) from None
    if "\0" in decoded:
        raise ConfigurationError([f"the database's URL has a {part} with a null character"])
    return decoded


def _truth(options: dict[str, str], name: str, *, unset: bool) -> bool:
    text = options.get(name)
    if text is None:
        return unset
    try:
        return _TRUTH[text.lower()]
    except KeyError:
        raise ConfigurationError([f"the database's URL has {name}={text!r:.20}: it takes true or false"]) from None
