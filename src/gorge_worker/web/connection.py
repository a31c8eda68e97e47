"""One connection: aiohttp's protocol with our limits, and our own answer to what is not HTTP."""

from __future__ import annotations

import asyncio
from typing import cast

import structlog
from aiohttp import http_exceptions, web

from gorge_worker.web.errors import error_answer
from gorge_worker.web.guard import MAX_HEADERS

log = structlog.get_logger()

KEEP_ALIVE = 75.0
"""Seconds that a connection may be idle, and that headers may take to arrive."""
ANSWER_TIMEOUT = 60.0
"""Seconds that a caller may take to let an answer in."""

_TOO_MANY_HEADERS = "Too many headers"


class Connection(web.RequestHandler):
    """Refuses what aiohttp's parser can't read in the error envelope, and logs nothing of what the caller sent.

    An answer is written when the kernel has all of it; a caller that lets none in is cut off.
    """

    def __init__(self, server: web.Server, malformed: MalformedRequests, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=KEEP_ALIVE,
            access_log=None,  # type: ignore[arg-type]  # aiohttp's own way to have none
            max_line_size=MAX_HEADERS,
            max_field_size=MAX_HEADERS,
            # A compressed body could grow to any size; bodies.py refuses it.
            auto_decompress=False,
        )
        self._malformed = malformed
        self._writes_to: asyncio.Transport | None = None
        self._cut: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # aiohttp forgets a transport when it begins to close it, which is not yet its end.
        self._writes_to = cast("asyncio.Transport", transport)
        # asyncio would keep up to 64 KiB and call them written.
        self._writes_to.set_write_buffer_limits(0)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_waiting_for_reader()
        self._writes_to = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cut = asyncio.get_running_loop().call_later(ANSWER_TIMEOUT, self.abort)

    def resume_writing(self) -> None:
        self._stop_waiting_for_reader()
        super().resume_writing()

    def abort(self) -> None:
        """Ends the connection now, whatever has not been written yet."""
        if self._writes_to is not None:
            self._writes_to.abort()

    def _stop_waiting_for_reader(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,  # noqa: ARG002 - aiohttp's signature; its own choice for these is always 400
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp's signature; it may quote the caller's token
    ) -> web.StreamResponse:
        """The answer to a request that the parser refused, after which the connection ends."""
        self._malformed.note(exc, request.remote)
        too_long = isinstance(exc, http_exceptions.LineTooLong) or str(exc).count(_TOO_MANY_HEADERS)
        answer = (
            error_answer(431, f"the headers are longer than {MAX_HEADERS} bytes, or too many")
            if too_long
            else error_answer(400, "this is not a request that HTTP allows")
        )
        answer.force_close()
        return answer


class MalformedRequests:
    """Says once that somebody sends what is not HTTP: port scanners and wrong probes do so for ever."""

    def __init__(self) -> None:
        self._said = False

    def note(self, error: BaseException | None, remote: str | None) -> None:
        """`error` is known by its type alone: its text may quote the caller's token."""
        say = log.debug if self._said else log.warning
        say(
            "a malformed request was refused; the next ones are logged at debug level",
            kind=type(error).__name__,
            remote=remote,
        )
        self._said = True
