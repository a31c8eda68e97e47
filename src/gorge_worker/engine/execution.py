"""Executing one task within its time, whatever its handler does."""

from __future__ import annotations

import asyncio
import math
import traceback

import structlog

from gorge_worker.engine.options import DEFAULT_TIMEOUT
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.excerpt import excerpt
from gorge_worker.model import Lease, Outcome
from gorge_worker.registry import Handler

REPORT_MARGIN = 5.0
"""Seconds before the end of its lease at which an execution is cut, so that the time-out can still be reported under
the lease: else the task would be handed out again at once, with no failure counted, for ever."""
REPORT_MARGIN_SHARE = 0.1
"""Short leases keep this share of their length instead."""

_log = structlog.get_logger()


def time_allowed(handler: Handler, lease_left: float, *, renewed: bool) -> float:
    """Seconds that an execution may take: the handler's own limit. Where its lease is not renewed meanwhile, it is cut
    short by what is left of that.
    """
    limit = DEFAULT_TIMEOUT if handler.timeout is None else handler.timeout
    if renewed:
        return limit
    return max(0.0, min(limit, lease_left - min(REPORT_MARGIN, lease_left * REPORT_MARGIN_SHARE)))


async def execute(handler: Handler, lease: Lease, seconds: float) -> Outcome:
    """What the execution came to.

    Raises BackendUnavailable when nothing was executed, LeaseLost when nothing must be reported, and CancelledError
    when the caller cancels it; everything else that a handler raises is an outcome.
    """
    try:
        async with asyncio.timeout(seconds if seconds < math.inf else None) as limit:
            return await handler.execute(lease)
    except (BackendUnavailable, LeaseLost):
        raise
    except TimeoutError as error:
        if limit.expired():
            wait = handler.retry_wait(lease.task)
            return Outcome.temporary_failure(f"time-out: not finished within {seconds:g} s", wait)
        return _failed(handler, lease, error)
    except Exception as error:  # noqa: BLE001 (a handler may raise anything, and it must cost only its own task)
        return _failed(handler, lease, error)


def _failed(handler: Handler, lease: Lease, error: Exception) -> Outcome:
    _log.warning("handler raised", task=lease.task.id, task_class=lease.task.task_class, exc_info=error)
    # Unlike str(), this can't be made to raise by the exception's own code.
    reason = excerpt("".join(traceback.format_exception_only(error)))
    return Outcome.temporary_failure(reason, handler.retry_wait(lease.task))
