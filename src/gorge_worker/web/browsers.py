"""Without a token, anything on this machine may call the API, but a web page must not be able to drive it."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from aiohttp import web

from gorge_worker.config.values import is_loopback
from gorge_worker.web.errors import Refused

KNOWN_HOSTS = 64
"""Host headers whose meaning is remembered: callers hardly use more than one."""


def refuse_web_pages(request: web.Request, *, on_loopback: bool) -> None:
    """Raises Refused for what a page of somebody else's could make a browser send.

    A page can send a foreign Origin, or a POST of another type than application/json, without asking first; and it
    can point a name of its own at a loopback address, which its Host gives away (`on_loopback` tells whether this
    server listens there: on other addresses any Host is right).
    """
    host = request.headers.get("Host", "")
    if on_loopback and host and not _is_loopback(host):
        raise Refused(403, "on a loopback address without a token, the Host must be a loopback one as well")
    if any(_authority(origin) != host.lower() for origin in request.headers.getall("Origin", ())):
        raise Refused(403, "without a token, pages of other origins are refused")
    routed = request.match_info.http_exception is None
    if routed and request.method == "POST" and request.content_type != "application/json":
        raise Refused(415, "without a token, the Content-Type must be application/json")


@lru_cache(KNOWN_HOSTS)
def _is_loopback(host: str) -> bool:
    return is_loopback(_name(host))


def _authority(origin: str) -> str:
    """Host and port of an origin; empty for `null` and for what is no origin at all."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The name or address in a Host header, without its port; empty when there is none to be read."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
