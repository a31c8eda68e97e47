"""Tasks that are leased here and go back without having been executed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from gorge_worker.clock import Clock
from gorge_worker.errors import QueueTrouble
from gorge_worker.queues.gorge.calls import yield_call
from gorge_worker.queues.gorge.fences import Fence, fenced_give_back
from gorge_worker.queues.gorge.receipts import tell
from gorge_worker.queues.gorge.standing import tell_fenced
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt, ReportResult

AT_ONCE = 16


class _GiveBack(msgspec.Struct, frozen=True):
    """Times are CLOCK_BOOTTIME in seconds: when the task may be executed, and until when it is leased here. `fence` is
    the lease, of a queue that wants to hear of it.
    """

    due: float
    ends_at: float
    fence: Fence | None


class GiveBacks:
    """Keeps them until the queue has answered, or until their leases have ended. `on_finished` is told each id."""

    def __init__(self, wire: Wire, clock: Clock, on_finished: Callable[[int], None]) -> None:
        self._wire = wire
        self._clock = clock
        self._on_finished = on_finished
        self._waiting: dict[int, _GiveBack] = {}

    def add(self, task_id: int, *, due: float, ends_at: float, fence: Fence | None = None) -> None:
        self._waiting[task_id] = _GiveBack(due, ends_at, fence)

    def __len__(self) -> int:
        return len(self._waiting)

    async def send(self) -> None:
        """Gives back what waits. Goes on while the queue takes any; raises QueueTrouble when it takes none, and what it
        did not take is kept.
        """
        while self._waiting:
            batch = list(self._waiting.items())[:AT_ONCE]
            results = await asyncio.gather(*(self._send(*one) for one in batch))
            if all(result.receipt is Receipt.TROUBLE for result in results):
                raise QueueTrouble(f"can't give tasks back: {results[0].reason}", results[0].retry_after)

    async def _send(self, task_id: int, give_back: _GiveBack) -> ReportResult:
        now = self._clock.boottime()
        if give_back.ends_at <= now:  # perhaps somebody else's already, whom the call would hit
            result = ReportResult(Receipt.LEASE_LOST, "the lease has ended")
        else:
            wait, fence = give_back.due - now, give_back.fence
            if fence:
                told = await tell_fenced(self._wire, self._clock, fence, *fenced_give_back(fence, wait))
            else:
                told = await tell(self._wire, self._clock, *yield_call(task_id, wait))
            result = told.result
        if self._waiting.get(task_id) is give_back:
            del self._waiting[task_id]
            if result.receipt is Receipt.TROUBLE:
                self._waiting[task_id] = give_back  # behind the others
            else:
                self._on_finished(task_id)
        return result
