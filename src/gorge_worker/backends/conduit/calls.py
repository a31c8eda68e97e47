"""Calls of Conduit's `worker.execute`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gorge_worker.backends.conduit.answer import Answer, read_answer
from gorge_worker.backends.conduit.request import Encoding, encode_request
from gorge_worker.clock import Clock
from gorge_worker.errors import BackendUnavailable
from gorge_worker.http_client import HttpClient, NoAnswer, NotSent

PATH = "/api/worker.execute"
MAX_ANSWER = 16 << 20
"""Bytes; a longer answer is not read, and what became of its task counts as unknown."""


class ConduitCalls:
    """`http` is a client of CONDUIT_URL, which the caller closes; `token` is CONDUIT_TOKEN, empty for none."""

    def __init__(self, http: HttpClient, *, token: str, encoding: Encoding, clock: Clock) -> None:
        self._http = http
        self._encoding = encoding
        self._clock = clock
        self.token = token

    async def call(self, parameters: Mapping[str, Any], within: float | None = None) -> Answer:
        """The answer, within so many seconds; without a number who cancels it sets the limit. What can't be known is an
        answer of its own kind: PHP goes on after a broken connection.

        Raises BackendUnavailable, LeaseLost and UndeclaredParameters, with each of which nothing was executed.
        """
        request = encode_request(parameters, token=self.token, encoding=self._encoding)
        try:
            answer = await self._http.request(
                "POST", PATH, body=request.body, headers=request.headers, timeout=within, max_answer=MAX_ANSWER
            )
        except NotSent as error:
            raise BackendUnavailable(str(error)) from error
        except NoAnswer as error:
            return Answer(unknown=str(error))
        return read_answer(answer, token=self.token, wall=self._clock.wall())
