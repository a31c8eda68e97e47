"""Finding what is leased under this worker's names without its knowing, and giving it back."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterable

import structlog

from gorge_worker.clock import Clock
from gorge_worker.errors import QueueTrouble
from gorge_worker.queues.gorge.fences import Fence
from gorge_worker.queues.gorge.give_backs import GiveBacks
from gorge_worker.queues.gorge.lanes import Lane, Lanes
from gorge_worker.queues.gorge.listing import NoListing, find_leased
from gorge_worker.queues.gorge.lost_owners import LostOwners
from gorge_worker.queues.gorge.meta import Generation
from gorge_worker.queues.gorge.wire import Wire

PATIENCE = 30.0
"""Seconds that a lane may hide tasks without asking again until they are looked for. Up to half as much is added, so
that many workers do not list the queue in step."""
SHARE = 20
"""A look at the lanes is followed by a pause of at least so many times its length: long queues are slow to list."""
PAUSE_AFTER_TROUBLE = 5.0

_log = structlog.get_logger()


class Recovery:
    """Works in the background while the queue answers, and to the end in `finish`."""

    def __init__(self, *, wire: Wire, lanes: Lanes, give_backs: GiveBacks, clock: Clock, rng: random.Random) -> None:
        self._wire = wire
        self._lanes = lanes
        self._give_backs = give_backs
        self._lost = LostOwners()
        self._clock = clock
        self._patience = PATIENCE * rng.uniform(1.0, 1.5)
        self._next_look = 0.0
        self._not_before = 0.0
        self._one_at_a_time = asyncio.Lock()
        self._work: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._lost_timer: asyncio.TimerHandle | None = None
        self._told_trouble = False
        self._told_no_listing = False

    def remember(self, owner: str, away: float = 0.0, generation: Generation | None = None) -> None:
        """A lease call under this owner, which is not used again, was not answered in full: what it has leased goes
        back for `away` seconds, in the words of the generation (None: the first).
        """
        self._lost.add(owner, self._clock.boottime(), away, generation)
        self._watch_lost()

    def _watch_lost(self) -> None:
        """Looks for lost leases when it is time, whatever calls go out meanwhile: a long poll lasts long."""
        look = self._lost.next_look()
        if look is not None and self._lost_timer is None:
            wait = max(look, self._not_before) - self._clock.boottime()
            self._lost_timer = asyncio.get_running_loop().call_later(max(0.0, wait), self._look_for_lost)

    def _look_for_lost(self) -> None:
        self._lost_timer = None
        self.contact()
        if self._work is None:  # else its end does
            self._watch_lost()

    def watch_lanes(self) -> None:
        """A lane may hide something: looks after the lanes from now on."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._look_at_lanes)

    def _look_at_lanes(self) -> None:
        self._timer = None
        if self._lanes.overdue(self._clock.boottime(), self._patience):
            self._start()
        if self._lanes.hiding():
            self.watch_lanes()

    def contact(self) -> None:
        """The queue answers: what had to wait for that is done now."""
        now = self._clock.boottime()
        if now >= self._not_before and (self._give_backs or self._lost.due(now) or self._lanes.holds_unread()):
            self._start()

    def _start(self) -> None:
        if self._work is None:
            self._work = asyncio.create_task(self._in_background(), name="queue recovery")
            self._work.add_done_callback(self._ended)

    def _ended(self, work: asyncio.Task[None]) -> None:
        self._work = None
        if work.cancelled():
            return
        self._watch_lost()
        if error := work.exception():
            _log.error("giving tasks back failed", exc_info=error)
        elif self._give_backs:
            self.contact()

    async def _in_background(self) -> None:
        try:
            async with self._one_at_a_time:
                await self._give_backs.send()
                now = self._clock.boottime()
                patience = self._patience if now >= self._next_look else math.inf
                await self._look(self._lost.due(now), self._lanes.overdue(now, patience))
        except QueueTrouble as trouble:
            self._not_before = self._clock.boottime() + max(PAUSE_AFTER_TROUBLE, trouble.retry_after or 0.0)
            if not self._told_trouble:
                self._told_trouble = True
                _log.warning("can't give tasks back yet, it is tried again", reason=str(trouble))
        else:
            self._told_trouble = False

    async def finish(self, settling: float) -> None:
        """Gives back everything, at shutdown.

        A lease call that broke off less than `settling` seconds ago may still be worked on: that is waited for.
        Raises QueueTrouble.
        """
        async with self._one_at_a_time:
            await asyncio.sleep(self._lost.unsettled(self._clock.boottime(), settling))
            await self._give_backs.send()
            await self._look(self._lost.all(), self._lanes.hiding())
            self._lost.clear()

    async def _look(self, lost: list[str], lanes: list[Lane]) -> None:
        """Looks for what the owners and lanes hold, and gives back what was never shown.

        The lanes are those that are not asking at this very moment: there must be no await between choosing them and
        `look_through`, which keeps them from it.
        """
        if not lost and not lanes:
            return
        began = self._clock.boottime()
        # What a lane was shown by now is executed, or has been: never to be taken for hidden, whenever it is listed.
        known = {lane.owner: frozenset(lane.held) for lane in lanes}
        self._lanes.look_through(lanes)
        try:
            found_all = await self._find(lost, known)
        except BaseException:
            self._lanes.look_failed(lanes)
            raise
        self._lanes.looked_through(lanes, found_all=found_all)
        self._lost.looked_for(lost, began, for_good=not found_all)
        now = self._clock.boottime()
        self._next_look = now + max(PATIENCE, SHARE * (now - began))
        if count := len(self._give_backs):
            _log.info("tasks are leased here that were never shown, they go back", tasks=count)
        await self._give_backs.send()

    async def _find(self, lost: Iterable[str], known: dict[str, frozenset[int]]) -> bool:
        """Marks what is leased and not known to be given back; False where the queue can't tell."""
        try:
            rows = await find_leased(self._wire, {*lost, *known}, self._clock)
        except NoListing as trouble:
            if not self._told_no_listing:
                self._told_no_listing = True
                _log.warning("tasks leased unawares can't be found, their leases have to run out", reason=str(trouble))
            return False
        now = self._clock.boottime()
        for row in rows:
            if row.task_id not in known.get(row.owner, ()):
                ends_at = now + row.seconds_left
                self._lanes.hold(row.owner, row.task_id, ends_at)
                due, generation = now + self._lost.away(row.owner), self._lost.generation(row.owner)
                fence = None
                if generation and generation.fenced:
                    fence = Fence(row.task_id, row.owner, row.expires, generation.release)
                self._give_backs.add(row.task_id, due=due, ends_at=ends_at, fence=fence)
        return True

    async def close(self) -> None:
        """Ends the background work, whatever it does."""
        for timer in (self._timer, self._lost_timer):
            if timer:
                timer.cancel()
        if work := self._work:
            work.cancel()
            await asyncio.wait([work])
