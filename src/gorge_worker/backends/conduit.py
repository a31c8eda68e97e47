"""The client of Conduit's `worker.execute` (contract: conduit.md)."""

from __future__ import annotations

from gorge_worker.backends.conduit_answer import read_answer
from gorge_worker.backends.conduit_request import Encoding, encode_request
from gorge_worker.clock import Clock
from gorge_worker.errors import BackendUnavailable
from gorge_worker.http_client import HttpClient, NoAnswer, NotSent
from gorge_worker.model import Lease, Outcome, Task

PATH = "/api/worker.execute"
MAX_ANSWER = 16 << 20
"""Bytes; a longer answer is not read, and what became of its task counts as unknown."""


class ConduitBackend:
    """The handler of what Phorge, or a gateway before it, executes.

    `http` is a client of CONDUIT_URL, which the caller closes; `token` is CONDUIT_TOKEN, empty for none; `timeout` is
    CONDUIT_TIMEOUT_SEC, None for the engine's default.
    """

    backend = "conduit"
    stops_when_cancelled = False

    def __init__(
        self, http: HttpClient, *, token: str, encoding: Encoding, timeout: float | None, clock: Clock
    ) -> None:
        self.timeout = timeout
        self._http = http
        self._token = token
        self._encoding = encoding
        self._clock = clock

    def retry_wait(self, _task: Task) -> None:
        """The queue's own: only PHP knows the class's, and it has not answered."""

    async def execute(self, lease: Lease) -> Outcome:
        """Executes a task in PHP, and says what it came to.

        Raises BackendUnavailable when nothing was executed and any other task would fare the same, LeaseLost when PHP
        says that the task is not this worker's. An outcome that can't be known is a temporary failure: PHP goes on
        after a broken connection.
        """
        request = encode_request(lease.task, token=self._token, encoding=self._encoding)
        try:
            answer = await self._http.request(
                "POST", PATH, body=request.body, headers=request.headers, timeout=None, max_answer=MAX_ANSWER
            )
        except NotSent as error:
            raise BackendUnavailable(str(error)) from error
        except NoAnswer as error:
            return Outcome.temporary_failure(f"outcome unknown: {error}")
        return read_answer(answer, token=self._token, wall=self._clock.wall())
