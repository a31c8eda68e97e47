"""Who may call: whoever has a token, or without one whatever is no web page."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from gorge_worker.config.values import ListenAddress
from gorge_worker.web.browsers import refuse_web_pages
from gorge_worker.web.errors import Refused
from gorge_worker.web.tokens import Tokens

TOKEN_HEADER = "X-Service-Token"  # noqa: S105 - a header's name
MAX_HEADERS = 32 << 10
"""Bytes of a request's line and headers in all."""


class Guard:
    """The terms on which one server takes requests: the address that it listens on and the value of SERVICE_TOKEN."""

    def __init__(self, address: ListenAddress, service_token: str) -> None:
        self.address = address
        self._on_loopback = address.loopback
        self.tokens = Tokens(service_token)

    def middleware(self, protects: Callable[[str], bool]) -> Middleware:
        """Turns requests away before any handler sees them; `protects` tells which paths need the right to call."""

        @web.middleware
        async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
            _refuse_long_headers(request)
            # The path is the decoded one, as routes are matched by it: no spelling of a path gets around this.
            if protects(request.path):
                self._check(request)
            return await handler(request)

        return admit

    def _check(self, request: web.Request) -> None:
        if not self.tokens:
            refuse_web_pages(request, on_loopback=self._on_loopback)
        elif not self.tokens.accept(_offered_token(request)):
            raise Refused(401, "missing or invalid service token")


def token_header(token: str) -> dict[str, str]:
    """The headers with which another service is called that has guards like this; none without a token."""
    return {TOKEN_HEADER: token} if token else {}


def _offered_token(request: web.Request) -> str:
    """The header's token, or the query's when there is no header or an empty one."""
    if header := request.headers.get(TOKEN_HEADER):
        return header
    query = parse_qs(request.rel_url.raw_query_string, errors="surrogateescape")
    return query.get("token", [""])[0]


def _refuse_long_headers(request: web.Request) -> None:
    # aiohttp bounds each line and their number, which together would allow for megabytes.
    separators = len(": \r\n")
    size = len(request.raw_path) + sum(len(name) + len(value) + separators for name, value in request.raw_headers)
    if size > MAX_HEADERS:
        raise Refused(431, f"the headers are longer than {MAX_HEADERS} bytes")
