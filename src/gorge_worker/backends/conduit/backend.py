"""The backend behind Conduit's `worker.execute` (contract: conduit.md)."""

from __future__ import annotations

import asyncio
import math

from gorge_worker.backends.conduit.answer import UndeclaredParameters
from gorge_worker.backends.conduit.calls import ConduitCalls
from gorge_worker.backends.conduit.capabilities import Capabilities
from gorge_worker.backends.conduit.dialect import SEED, VERSION_1, Dialect
from gorge_worker.backends.conduit.preparing import Preparations
from gorge_worker.backends.conduit.request import Encoding
from gorge_worker.backends.deadlines import DEFAULT_DEADLINE
from gorge_worker.clock import Clock
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.http_client import HttpClient
from gorge_worker.model import Lease, Outcome, Task


class ConduitBackend:
    """The handler of what Phorge, or a gateway before it, executes.

    `http` is a client of CONDUIT_URL, which the caller closes; `token` is CONDUIT_TOKEN, empty for none; `timeout` is
    CONDUIT_TIMEOUT_SEC, None for what each class asks for.
    """

    backend = "conduit"
    stops_when_cancelled = False
    waiting = 0

    def __init__(
        self, http: HttpClient, *, token: str, encoding: Encoding, timeout: float | None, clock: Clock
    ) -> None:
        self.timeout = math.inf if timeout is None else timeout
        self._asks_classes = timeout is None
        self._calls = ConduitCalls(http, token=token, encoding=encoding, clock=clock)
        self._capabilities = Capabilities(self._calls, clock)
        self._preparations = Preparations(self._calls, clock)

    def retry_wait(self, _task: Task) -> None:
        """The queue's own: only PHP knows the class's, and it has not answered."""

    async def check(self) -> None:
        """Raises BackendUnavailable, saying why tasks can't be executed."""
        await self._capabilities.dialect()

    async def execute(self, lease: Lease) -> Outcome:
        """Executes a task in PHP, and says what it came to.

        Raises BackendUnavailable when nothing was executed and any other task would fare the same, LeaseLost when PHP
        says that the task is not this worker's.
        """
        try:
            dialect = await self._capabilities.dialect()
            try:
                return await self._execute(lease, dialect)
            except UndeclaredParameters:
                better = SEED
            except LeaseLost:
                if dialect.names_lease:
                    raise
                # The lease is not lost: it was not named, to a method that looks for it and so is of version 1.
                better = VERSION_1
            self._capabilities.learn(better)
            return await self._execute(lease, better)
        except UndeclaredParameters as refused:
            self._capabilities.forget()
            raise BackendUnavailable(
                f"{refused} (worker.execute at CONDUIT_URL can't be called without them)"
            ) from refused
        except BackendUnavailable:
            self._capabilities.forget()
            raise

    async def _execute(self, lease: Lease, dialect: Dialect) -> Outcome:
        seconds = DEFAULT_DEADLINE
        if self._asks_classes and dialect.versioned:
            prepared = await self._preparations.deadline(lease)
            if isinstance(prepared, Outcome):
                return prepared
            seconds = prepared
        try:
            async with asyncio.timeout(seconds if self._asks_classes else None):
                answer = await self._calls.call(dialect.parameters(lease, "execute"))
        except TimeoutError:
            return Outcome.temporary_failure(
                f"time-out: not finished within {seconds:g} s, PHP may still be executing it"
            )
        return answer.outcome(self._calls.token)
