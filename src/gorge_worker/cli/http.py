"""The few HTTP calls that commands make, with the standard library alone: a health check must be quick and small."""

from __future__ import annotations

import base64
import contextlib
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from urllib.parse import SplitResult, quote, unquote, urlsplit

import msgspec

from gorge_worker.config.values import mask_url
from gorge_worker.errors import GorgeWorkerError
from gorge_worker.excerpt import excerpt
from gorge_worker.foreign_json import decode_json

TIMEOUT = 10.0
"""Seconds that connecting and each wait for a part of the answer may take."""
LONGEST_ANSWER = 1 << 20
"""Bytes. Nothing that a command asks for is so long."""
URL_CHARACTERS = "/%:@!$&'()*+,;=~?"
"""What a path and a query keep as it is."""


class CallFailed(GorgeWorkerError):
    """No connection could be made."""


class NoAnswer(CallFailed):
    """There was no whole answer: the other side may have acted on the call."""


class Answer(msgspec.Struct, frozen=True):
    """A whole answer, whatever its status."""

    status: int
    headers: HTTPMessage
    body: bytes

    def reason(self, hide: str = "") -> str:
        """What the other side says about a call that it did not carry out, on one line.

        `hide` is a secret that it may repeat.
        """
        try:
            message = decode_json(self.body)["error"]["message"]
        except (ValueError, LookupError, TypeError):
            message = self.body
        said = excerpt(message if isinstance(message, str | bytes) else self.body, hide=hide)
        return f"it answered {self.status}" + (f": {said}" if said else "")


def call(method: str, url: str, *, body: bytes | None = None, token: str = "", timeout: float = TIMEOUT) -> Answer:
    """Makes one call, without following redirects, and reads the whole answer.

    `url` is valid (`config.values`); its user and password become basic auth. `token` goes as X-Service-Token.
    Raises CallFailed or NoAnswer; their messages name the URL without its secrets.
    """
    parts = urlsplit(url)
    shown = mask_url(url)
    connection = _connection(parts, timeout)
    try:
        connection.connect()
        return _exchange(connection, method, _target(parts), body, _headers(parts, body, token))
    except _Broken as error:
        raise NoAnswer(f"no whole answer from {shown}: {error}") from error
    except (OSError, UnicodeError) as error:
        raise CallFailed(f"can't connect to {shown}: {_words(error)}") from error
    finally:
        connection.close()


class _Broken(Exception):
    """The call was sent, perhaps, and not answered."""


def _exchange(
    connection: HTTPConnection, method: str, target: str, body: bytes | None, headers: dict[str, str | bytes]
) -> Answer:
    try:
        # A server may refuse a long body before it has read it, and its answer says why.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(method, target, body, headers)
        response = connection.getresponse()
        received = response.read(LONGEST_ANSWER + 1)
    except (OSError, HTTPException, ValueError) as error:  # ValueError: the framing makes no sense to http.client
        raise _Broken(_words(error)) from error
    if len(received) > LONGEST_ANSWER:
        raise _Broken(f"it is longer than {LONGEST_ANSWER} bytes")
    # A bounded read takes a connection's early end for the end of the answer.
    if response.length:
        raise _Broken(f"{response.length} bytes are missing")
    return Answer(response.status, response.headers, received)


def _target(parts: SplitResult) -> str:
    path = parts.path or "/"
    return quote(f"{path}?{parts.query}" if parts.query else path, URL_CHARACTERS)


def _connection(parts: SplitResult, timeout: float) -> HTTPConnection:
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=timeout)


def _headers(parts: SplitResult, body: bytes | None, token: str) -> dict[str, str | bytes]:
    headers: dict[str, str | bytes] = {"Accept": "application/json", "Connection": "close"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if token:
        # As it stands in the environment: a token need not be ASCII, nor UTF-8.
        headers["X-Service-Token"] = token.encode(errors="surrogateescape")
    if parts.username or parts.password:
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["Authorization"] = b"Basic " + base64.b64encode(user.encode())
    return headers


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return excerpt(str(error)) or type(error).__name__
