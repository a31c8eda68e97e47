"""Reading a request's body: bounded in size and time, decoded into a struct."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from aiohttp import web

from gorge_worker.web.errors import Refused

MAX_BODY = 1 << 20
"""Bytes of a request body."""
MAX_LARGE_BODY = 16 << 20
"""Bytes of a body that carries task data."""
BODY_TIMEOUT = 60.0
"""Seconds that a body may take to arrive."""

Body = TypeVar("Body", bound=msgspec.Struct)


async def read_body(request: web.Request, *, most: int) -> bytes:
    """The body of at most `most` bytes. Raises Refused for a longer, a slow, a compressed and a broken one."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refused(415, "the body must not be compressed")
    if (request.content_length or 0) > most:
        raise _too_large(most)
    try:
        if request.content.is_eof() and request.content.exception() is None:  # it came with its headers, as most do
            body = request.content.read_nowait()
        else:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await _collect(request, most)
    except TimeoutError as error:
        raise Refused(408, f"the body did not arrive within {BODY_TIMEOUT:g} s") from error
    except web.RequestPayloadError as error:
        raise Refused(400, "the body's framing is broken") from error
    if len(body) > most:
        raise _too_large(most)
    return body


async def _collect(request: web.Request, most: int) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


async def decode_body(request: web.Request, kind: type[Body], *, most: int = MAX_BODY) -> Body:
    """The body as a struct: unknown fields are ignored, an empty body is an empty object. Raises Refused."""
    raw = await read_body(request, most=most)
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise Refused(400, f"the body is not as it should be: {error}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON, in UTF-8 and without lone surrogates: {error}") from error


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body is longer than {most} bytes")
