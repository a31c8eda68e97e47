"""What a call can come to."""

from __future__ import annotations

import msgspec
from multidict import CIMultiDictProxy

from gorge_worker.errors import GorgeWorkerError


class HttpError(GorgeWorkerError):
    """A call without a whole answer. The message names neither headers nor the query."""


class NotSent(HttpError):
    """No connection could be made, or none was free in time: the other side has not seen the call."""


class NoAnswer(HttpError):
    """The call may have been acted on: the connection broke, the answer did not come in time or was cut short."""


class AnswerTooLarge(NoAnswer):
    """The answer was longer than the caller would read."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """A whole answer, whatever its status."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
