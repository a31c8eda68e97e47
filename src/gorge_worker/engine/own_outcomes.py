"""The outcomes that the engine itself decides on, when no handler has."""

from __future__ import annotations

import math

from gorge_worker.model import Outcome
from gorge_worker.registry import Handler

UNSUPPORTED_WAIT = 60
"""Seconds for which a task that nothing here can execute is given back."""
PAUSED_WAIT = 5
"""Seconds for which a task is given back whose backend executes nothing, however soon that is tried again."""

SHUTTING_DOWN = Outcome.released("the worker is shutting down")
NO_HANDLER = Outcome.released("no handler for this class here", UNSUPPORTED_WAIT)
NOT_BEGUN = Outcome.released("broken off before it had begun")
HANDED_OUT_AGAIN = Outcome.released("handed out again while its earlier lease was lost", PAUSED_WAIT)
"""For an execution whose lease was lost: it counts when the task came to this worker again before it had ended."""
LEFT_BEHIND = Outcome.temporary_failure("cut by the worker's shutdown")
"""For an execution that goes on after the shutdown has cancelled it, so that it must not be executed again at once."""
ENGINE_FAILED = Outcome.temporary_failure("the worker itself failed, see its log")


def paused(handler: Handler, pause: float) -> Outcome:
    return Outcome.released(f"backend {handler.backend} is paused", max(PAUSED_WAIT, math.ceil(pause)))


def cut(handler: Handler) -> Outcome:
    """For an execution that the shutdown has cancelled, and that has ended here."""
    return Outcome.yielded(PAUSED_WAIT, LEFT_BEHIND.reason) if handler.stops_when_cancelled else LEFT_BEHIND
