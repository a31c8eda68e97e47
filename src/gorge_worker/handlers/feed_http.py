"""Feed stories that this process delivers itself."""

from __future__ import annotations

import io
import math
from collections.abc import Collection

import aiohttp
import structlog
from yarl import URL

from gorge_worker.errors import BackendUnavailable, PermanentFailure
from gorge_worker.excerpt import excerpt
from gorge_worker.handlers.feed_delivery import FeedDelivery, read_delivery
from gorge_worker.model import Lease, Outcome, Task
from gorge_worker.registry import Handler
from gorge_worker.whole_seconds import whole_seconds

FEED_CLASS = "FeedPublisherHTTPWorker"
TIMEOUT = 30.0
"""Seconds for one delivery, from connecting to the answer's first bytes."""
RETRY_WAIT = 60
"""Seconds for each failure so far, the present one included (FeedPublisherHTTPWorker::getWaitBeforeRetry)."""
NEEDS_PHP_WAIT = 60
"""Seconds for which a story that PHP must deliver is given back while there is none."""
SUCCESS = range(200, 300)
SHOWN_OF_ANSWER = 1024
"""Bytes of a refusal that are read, for its excerpt. Nothing is read of a success."""
MAX_AT_ONCE = 1 << 20
"""Bytes; aiohttp warns of longer bodies that it is to send in one piece."""

_log = structlog.get_logger()
_HEADERS = {"Content-Type": "application/x-www-form-urlencoded", "Accept-Encoding": "identity"}


class FeedHttpHandler:
    """Posts feed stories to their hooks, and leaves to PHP those that only PHP can render.

    `hooks` are the exact URIs that may be posted to, empty for any (FEED_HTTP_HOOKS). `fallback` executes what needs
    PHP; without one such a task is given back, without a failure. A hook's trouble, and a missing PHP, are always
    the task's own affair: this handler needs no backend, and stories that it can deliver go on.
    """

    backend = None
    waiting = 0

    def __init__(self, *, hooks: Collection[str], fallback: Handler | None) -> None:
        self._hooks = frozenset(hooks)
        self._fallback = fallback
        self._php_is_missing = False
        self._session: aiohttp.ClientSession | None = None

    @property
    def timeout(self) -> float | None:
        """The fallback's. A delivery of its own ends by TIMEOUT, whose failure has the class's own wait."""
        return self._fallback.timeout if self._fallback else None

    @property
    def stops_when_cancelled(self) -> bool:
        return self._fallback is None or self._fallback.stops_when_cancelled

    def retry_wait(self, task: Task) -> int | None:
        """Grows with the failures, as the class's own does in PHP."""
        return whole_seconds(RETRY_WAIT * (task.failure_count + 1))

    async def execute(self, lease: Lease) -> Outcome:
        """Delivers the story. Raises LeaseLost where the fallback does, BackendUnavailable never."""
        try:
            delivery = read_delivery(lease.task.data)
        except PermanentFailure as failure:
            return Outcome.permanent_failure(str(failure))
        if delivery is None:
            return await self._leave_to_php(lease)
        if self._hooks and delivery.uri not in self._hooks:
            return Outcome.permanent_failure(
                f"the URI (at {delivery.place}) is not one of FEED_HTTP_HOOKS: if it should be posted to, add it there"
                " exactly as Phorge's feed.http-hooks has it"
            )
        trouble = await self._trouble_with(delivery)
        if trouble is None:
            return Outcome.success()
        return Outcome.temporary_failure(f"{delivery.place} {trouble}", self.retry_wait(lease.task))

    async def _leave_to_php(self, lease: Lease) -> Outcome:
        if self._fallback is None:
            self._php_missing("set PHORGE_ROOT or CONDUIT_URL")
            return Outcome.released("only PHP can deliver this story, and none is set", NEEDS_PHP_WAIT)
        try:
            outcome = await self._fallback.execute(lease)
        except BackendUnavailable as trouble:
            self._php_missing(str(trouble))
            wait = max(NEEDS_PHP_WAIT, math.ceil(trouble.retry_after or 0))
            return Outcome.released(f"only PHP can deliver this story: {trouble}", wait)
        self._php_is_missing = False
        return outcome

    def _php_missing(self, reason: str) -> None:
        if not self._php_is_missing:
            self._php_is_missing = True
            _log.warning("feed stories that need PHP wait for it", task_class=FEED_CLASS, reason=reason)

    async def _trouble_with(self, delivery: FeedDelivery) -> str | None:
        """Posts, and returns what went wrong: None when the hook has accepted the story."""
        try:
            async with self._opened().post(
                # Already encoded: a hook may tell %2F from / or %41 from A, and gets the URI that it was set up with.
                URL(delivery.uri, encoded=True),
                data=_payload(delivery.body),
                headers=_HEADERS,
                allow_redirects=False,
            ) as answer:
                if answer.status in SUCCESS:
                    return None
                words = excerpt(await answer.content.read(SHOWN_OF_ANSWER)) or "an empty answer"
                return f"answered HTTP {answer.status}: {words}"
        except TimeoutError:
            return f"did not answer within {TIMEOUT:g} s"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # A ValueError is aiohttp's word for a proxy that can't be used, too: not for ever, then.
            return f"can't be reached: {_in_words(error)}"

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=TIMEOUT),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=True,
            )
        return self._session

    async def close(self) -> None:
        """Closes its connections. Nothing may be executed any more."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _payload(body: bytes) -> bytes | io.BytesIO:
    """A body as aiohttp should get it: a long one piece by piece, so that others get their turn in between."""
    return io.BytesIO(body) if len(body) > MAX_AT_ONCE else body


def _in_words(error: Exception) -> str:
    """An error in words, without the URL that aiohttp puts into some of its messages."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error) or type(error.os_error).__name__
    if isinstance(error, aiohttp.InvalidURL):
        return "the URL can't be used"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"HTTP {error.status} {error.message}".rstrip()
    return str(error) or type(error).__name__
