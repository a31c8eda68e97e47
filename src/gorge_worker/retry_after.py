"""The Retry-After header, in both of its forms (RFC 9110, section 10.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

MOST = 60.0
"""Seconds; a longer wait counts as this long (worker HTTP contract, limits)."""
MAX_DIGITS = 9
"""A number with more digits is beyond MOST anyway, and Python refuses to read very long ones."""


def retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Seconds to wait, 0 to MOST, or None when the header is absent or can't be read.

    `headers` are looked up as `Retry-After`, so they should ignore case; `wall` is now, in epoch seconds, and is
    what a date is compared with.
    """
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return MOST if len(value) > MAX_DIGITS else min(float(value), MOST)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    # HTTP dates are GMT even where they don't say so.
    moment = date if date.tzinfo else date.replace(tzinfo=UTC)
    return min(max(moment.timestamp() - wall, 0.0), MOST)
