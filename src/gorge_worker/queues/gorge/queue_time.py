"""The queue's clock, and what its times mean on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

import msgspec

from gorge_worker.clock import Clock

LEASE_DURATION = 7200
"""Seconds that a lease lasts whose end the queue does not tell (queue contract, fact 5)."""
ROUNDING = 2.0
"""Seconds taken off: the queue's clock and a lease's end are both told in whole seconds (queue contract)."""
LONGEST = 10**9
"""Seconds; any nonsense beyond lasts as long, so that it can be calculated with."""


class Moment(msgspec.Struct, frozen=True):
    """Now, by both of this machine's clocks; see Clock."""

    boottime: float
    wall: float

    @classmethod
    def now(cls, clock: Clock) -> Moment:
        return cls(clock.boottime(), clock.wall())


def queue_clock(headers: Mapping[str, str], wall: float) -> float:
    """The queue's time in epoch seconds: its Date header, or `wall` where it sends none that can be read."""
    try:
        date = parsedate_to_datetime(headers.get("Date", ""))
    except ValueError:
        return wall
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def lease_end(expires: int | None, asked: Moment, headers: Mapping[str, str]) -> tuple[int, float]:
    """A lease's end by the queue's clock (epoch seconds) and on CLOCK_BOOTTIME (seconds).

    `asked` is just before the call was sent: counted from there, the end comes too early at worst.
    """
    queue_now = queue_clock(headers, asked.wall)
    if expires is None:
        expires = int(queue_now) + LEASE_DURATION
    left = max(-LONGEST, min(LONGEST, expires - int(queue_now)))
    return expires, asked.boottime + left - ROUNDING
