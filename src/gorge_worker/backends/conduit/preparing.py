"""How long a class may take, as version 1 of `worker.execute` says it: asked once per class and hour, since each call
costs PHP's start-up.
"""

from __future__ import annotations

import asyncio

from gorge_worker.backends.conduit.calls import ConduitCalls
from gorge_worker.backends.conduit.dialect import VERSION_1
from gorge_worker.backends.deadlines import DEFAULT_DEADLINE, deadline
from gorge_worker.backends.execution_result import outcome_of_result
from gorge_worker.clock import Clock
from gorge_worker.model import Lease, Outcome, Verdict

PREPARE_TIMEOUT = 30.0
"""Seconds for a call that executes nothing."""
ASK_AGAIN = 3600.0
ASK_AGAIN_SOON = 60.0
"""Seconds after an answer that said nothing."""
MOST_CLASSES = 1000
"""Remembered at the same time."""


class Preparations:
    """Of the classes that are executed. Those that want to know of one class at the same time ask once."""

    def __init__(self, calls: ConduitCalls, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock
        self._known: dict[str, tuple[float, float]] = {}
        """Class -> its deadline in seconds, and until when that is believed."""
        self._asking: dict[str, asyncio.Task[float | Outcome]] = {}

    async def deadline(self, lease: Lease) -> float | Outcome:
        """Seconds that the task may take, or the outcome of a task that can't be executed.

        Raises BackendUnavailable, LeaseLost and UndeclaredParameters.
        """
        task_class = lease.task.task_class
        while (known := self._remembered(task_class)) is None and (asking := self._asking.get(task_class)):
            # What its answer says of its own task does not concern this one.
            await asyncio.wait([asking])
        if known is not None:
            return known
        asking = asyncio.create_task(self._ask(lease), name=f"prepare {task_class}")
        self._asking[task_class] = asking
        asking.add_done_callback(self._asked)
        return await asyncio.shield(asking)

    async def _ask(self, lease: Lease) -> float | Outcome:
        answer = await self._calls.call(VERSION_1.parameters(lease, "prepare"), PREPARE_TIMEOUT)
        if answer.unknown or answer.error:
            return self._remember(lease, DEFAULT_DEADLINE, ASK_AGAIN_SOON)
        result = answer.result if isinstance(answer.result, dict) else {}
        if result.get("result") == Verdict.PERMANENT_FAILURE:
            return outcome_of_result(result, hide=self._calls.token)
        return self._remember(lease, deadline(result.get("leaseDuration")), ASK_AGAIN)

    def _remembered(self, task_class: str) -> float | None:
        seconds, until = self._known.get(task_class, (0.0, 0.0))
        return seconds if self._clock.boottime() < until else None

    def _remember(self, lease: Lease, seconds: float, for_seconds: float) -> float:
        self._known.pop(lease.task.task_class, None)
        while len(self._known) >= MOST_CLASSES:
            del self._known[next(iter(self._known))]
        self._known[lease.task.task_class] = seconds, self._clock.boottime() + for_seconds
        return seconds

    def _asked(self, asking: asyncio.Task[float | Outcome]) -> None:
        self._asking = {name: one for name, one in self._asking.items() if one is not asking}
        if not asking.cancelled():
            asking.exception()  # whoever waits for it has got it; when nobody does any more, it is no news
