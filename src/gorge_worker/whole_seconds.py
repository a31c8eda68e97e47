"""Durations from elsewhere, in the unit of the queue."""

from __future__ import annotations

import math
from typing import Any

MAX_SECONDS = 2**31 - 1
"""A longer duration would not fit into the queue's epoch columns."""


def whole_seconds(value: Any) -> int | None:
    """A number of seconds, rounded up; None when the value is no number from 0 to MAX_SECONDS."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        return None
    return math.ceil(value)
