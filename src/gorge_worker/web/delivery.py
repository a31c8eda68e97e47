"""Writing an answer so that it is known whether it went out."""

from __future__ import annotations

import asyncio

from aiohttp import web


async def deliver(request: web.Request, answer: web.Response) -> None:
    """Writes a whole answer and returns when the kernel has all of it. Raises ConnectionError.

    After anything but a return (a cancellation too) the connection is cut, so that the caller can't get the rest of
    an answer that no longer holds: half an answer is none.
    """
    try:
        await _notice_a_hang_up()
        await _write(request, answer)
    except BaseException:
        if request.transport is not None:
            request.transport.abort()
        raise


async def _notice_a_hang_up() -> None:
    """Lets the event loop look at the sockets: a caller may have gone while its answer was being made.

    The first round polls them, the second begins after what was found has been acted on.
    """
    for _ in range(2):
        await asyncio.sleep(0)


async def _write(request: web.Request, answer: web.Response) -> None:
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the caller has gone")
    await answer.prepare(request)
    # Waits until the kernel has everything: connection.py leaves no buffer in between.
    await answer.write_eof()
    if transport.is_closing():
        raise ConnectionResetError("the connection broke while the answer was written")
