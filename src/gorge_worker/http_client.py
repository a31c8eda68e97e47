"""The one way in which calls to the queue and to a backend go out over HTTP.

Narrow on purpose: one base URL, bounded answers, no redirects, no cookies, and errors that tell the one thing that
matters to a worker: whether the other side may have acted on the call.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import aiohttp
import msgspec

from gorge_worker.errors import GorgeWorkerError

if TYPE_CHECKING:
    from multidict import CIMultiDictProxy

CONNECT_TIMEOUT = 10.0
"""Seconds until a host that does not take the connection counts as unreachable."""
IDLE_CONNECTION = 4.0
"""Seconds that an unused connection is kept: less than Apache's default of 5, so that a call is not sent into a
connection that the server is just closing, which would leave its outcome unknown."""
CHUNK = 1 << 16
MAX_AT_ONCE = 1 << 20
"""Bytes; aiohttp warns of longer bodies that it is to send in one piece."""


class HttpError(GorgeWorkerError):
    """A call without a whole answer. The message names neither headers nor the query."""


class NotSent(HttpError):
    """No connection could be made: the other side has not seen the call."""


class NoAnswer(HttpError):
    """The call may have been acted on: the connection broke, the answer did not come in time or was cut short."""


class AnswerTooLarge(NoAnswer):
    """The answer was longer than the caller would read."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """A whole answer, whatever its status."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes


class HttpClient:
    """A pool of connections to one base URL; must be used within one event loop.

    `headers` go with every call; `connections` bounds the pool. User and password in the URL become basic auth.
    """

    def __init__(self, base_url: str, *, headers: Mapping[str, str], connections: int) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=IDLE_CONNECTION),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                auto_decompress=False,
            )
        return self._session

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None,  # noqa: ASYNC109 (aiohttp enforces it, and knows which part of the call it hit)
        max_answer: int,
    ) -> HttpAnswer:
        """Sends one call and reads the whole answer.

        `timeout` is in seconds for the whole call (None: no limit), `max_answer` in bytes. Raises NotSent, NoAnswer
        or AnswerTooLarge.
        """
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT)
        try:
            async with self._opened().request(
                method, self._base + path, data=payload(body), headers=headers, timeout=limits, allow_redirects=False
            ) as answer:
                return HttpAnswer(answer.status, answer.headers, await _read(answer, max_answer))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise NotSent(f"can't connect: {in_words(error)}") from error
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {timeout:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswer(f"the connection broke: {in_words(error)}") from error

    async def rest(self) -> None:
        """Lets idle connections go; the next call opens new ones. Calls under way must not exist."""
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


def payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """A body as aiohttp should get it: a long one piece by piece, so that others get their turn in between."""
    return io.BytesIO(body) if body is not None and len(body) > MAX_AT_ONCE else body


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    if (answer.content_length or 0) > most:
        raise AnswerTooLarge(f"an answer of {answer.content_length} bytes, more than {most}")
    body = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK):
        body += chunk
        if len(body) > most:
            raise AnswerTooLarge(f"an answer of more than {most} bytes")
    return bytes(body)


def in_words(error: Exception) -> str:
    """An error in words, without the URL that aiohttp puts into some of its messages."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error) or type(error.os_error).__name__
    if isinstance(error, aiohttp.InvalidURL):
        return "the URL can't be used"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"HTTP {error.status} {error.message}".rstrip()
    return str(error) or type(error).__name__
