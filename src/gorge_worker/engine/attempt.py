"""One execution, and what it says of the backend that it needs."""

from __future__ import annotations

import asyncio

from gorge_worker.engine.breaker import Breaker
from gorge_worker.engine.execution import execute
from gorge_worker.engine.own_outcomes import PAUSED_WAIT
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.model import Lease, Outcome
from gorge_worker.registry import Handler


async def attempt(handler: Handler, lease: Lease, seconds: float, breaker: Breaker | None) -> Outcome:
    """What the execution came to, which the breaker has been told of.

    Raises LeaseLost when nothing must be reported, and CancelledError when the caller cancels it.
    """
    loop = asyncio.get_running_loop()
    try:
        outcome = await execute(handler, lease, seconds)
    except BackendUnavailable as trouble:
        if breaker is None:
            return Outcome.temporary_failure(str(trouble))
        breaker.refused(loop.time(), str(trouble), trouble.retry_after)
        return Outcome.released(str(trouble), PAUSED_WAIT)
    except LeaseLost:
        if breaker:
            breaker.executed()
        raise
    except asyncio.CancelledError:
        if breaker:
            breaker.undecided()
        raise
    if breaker:
        breaker.executed()
    return outcome
