"""A worker on a queue that renews, and handlers that last."""

from __future__ import annotations

import asyncio

from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.protocol import Features
from support.memory_queue import Bench, FakeHandler

RENEWS = Features(renews=True)


class Endless:
    """A handler's function that never ends by itself, and knows what became of it."""

    def __init__(self) -> None:
        self.cancelled_at: dict[int, float] = {}

    async def __call__(self, lease: Lease) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled_at[lease.task.id] = asyncio.get_running_loop().time()
        raise AssertionError("not reached")


def stubborn(ends_after: float) -> FakeHandler:
    """Like a handler in a thread: a cancellation ends it only when it has worked for so long."""

    async def execute(_lease: Lease) -> Outcome:
        loop = asyncio.get_running_loop()
        end, cancelled = loop.time() + ends_after, False
        while (left := end - loop.time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError
        return Outcome.success()

    return FakeHandler(execute)


def lasting(seconds: float) -> FakeHandler:
    async def execute(_lease: Lease) -> Outcome:
        await asyncio.sleep(seconds)
        return Outcome.success()

    return FakeHandler(execute)


def renewing_bench(handler: FakeHandler, *, lease_seconds: float = 300.0, workers: int = 4) -> Bench:
    return Bench(handler, features=RENEWS, lease_seconds=lease_seconds, max_workers=workers, lease_limit=workers)
