"""Answers as both faces give them: JSON, in the envelope `{"data": ...}` wherever the contracts have one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from aiohttp import web

_HEADERS = {
    "Cache-Control": "no-store",
    # aiohttp would name its own version and Python's to everybody.
    "Server": "gorge-worker",
    "X-Content-Type-Options": "nosniff",
}


def json_answer(content: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer of plain data, msgspec structs among it."""
    return web.Response(
        body=msgspec.json.encode(content),
        status=status,
        headers={**_HEADERS, **(headers or {})},
        content_type="application/json",
        charset="utf-8",
    )


def data_answer(content: object) -> web.Response:
    """A 200 with `{"data": content}`."""
    return json_answer({"data": content})
