"""Waiting for conditions instead of for time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], object], within: float = 5.0, what: str = "") -> None:
    """Waits until the condition is true, and fails naming what did not come true within so many seconds."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {within} s: {what or condition}")
        await asyncio.sleep(0.005)


async def until_true(ask: Callable[[], Awaitable[object]], within: float = 10.0, what: str = "") -> None:
    """The same for what must be asked for, a server's answer say."""
    end = time.monotonic() + within
    while not await ask():
        if time.monotonic() > end:
            raise AssertionError(f"not within {within} s: {what or ask}")
        await asyncio.sleep(0.02)
