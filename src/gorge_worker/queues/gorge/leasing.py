"""One lease call, from the owner it goes out under to the tasks that may be executed now."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import structlog

from gorge_worker.clock import Clock
from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import AnswerTooLarge, HttpAnswer, HttpError, NotSent
from gorge_worker.model import Lease, Task
from gorge_worker.queues.gorge.asking import Asking, FreshOwner, InLane
from gorge_worker.queues.gorge.attempts import Attempts
from gorge_worker.queues.gorge.decoding import LeasedTasks, read_tasks
from gorge_worker.queues.gorge.envelope import trouble
from gorge_worker.queues.gorge.fences import FencedLease
from gorge_worker.queues.gorge.give_backs import GiveBacks
from gorge_worker.queues.gorge.lanes import Lanes
from gorge_worker.queues.gorge.meta import Generation, Meta
from gorge_worker.queues.gorge.queue_time import Moment, lease_end
from gorge_worker.queues.gorge.recovery import Recovery
from gorge_worker.queues.gorge.waits import Waits
from gorge_worker.queues.gorge.wire import CALL_TIMEOUT, Wire
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import Leased, LeaseRequest, Unusable
from gorge_worker.queues.store import MIN_YIELD

POLL_GRACE = 10.0
"""Seconds that the answer to a long poll may take beyond its wait."""
GIANT_AWAY = 60.0
"""Seconds that a task too large to be read stays away, as any that this worker can't execute (queue contract)."""

_log = structlog.get_logger()


class Leasing:
    """Takes tasks. What a call may have leased without showing it is handed to Recovery."""

    def __init__(
        self,
        *,
        wire: Wire,
        meta: Meta,
        owners: OwnerNames,
        lanes: Lanes,
        recovery: Recovery,
        give_backs: GiveBacks,
        attempts: Attempts,
        waits: Waits,
        clock: Clock,
    ) -> None:
        self._wire = wire
        self._meta = meta
        self._owners = owners
        self._lanes = lanes
        self._recovery = recovery
        self._give_backs = give_backs
        self._attempts = attempts
        self._waits = waits
        self._clock = clock
        self._one_only = False
        self._told_nameless = False

    async def lease(self, request: LeaseRequest) -> Leased:
        """Raises QueueTrouble."""
        generation = await self._meta.known()
        self._recovery.contact()
        asking = self._start(generation)
        limit = 1 if self._one_only else request.limit
        asked = Moment.now(self._clock)
        try:
            answer = await self._ask(asking.owner, _body(request, limit, generation), asking)
            found = self._read(answer, asking)
        except QueueTrouble:
            self._meta.forget()
            raise
        self._meta.answered()
        self._one_only = False
        leased = self._leased(found, asking.owner, asked, answer, generation)
        ends = {lease.task.id: lease.ends_at for lease in _all(leased)}
        asking.answered(ends, full=found.shown >= limit, now=self._clock.boottime())
        leased = self._hold_back(leased, generation)
        self._recovery.contact()
        return leased

    def _start(self, generation: Generation) -> Asking:
        now = self._clock.boottime()
        if generation.hides_leases:
            return InLane(self._lanes.take(now), self._lanes, self._recovery)
        for owner in self._lanes.retire(now):
            self._recovery.remember(owner)
        return FreshOwner(self._owners.next(), generation, self._recovery)

    async def _ask(self, owner: str, body: dict[str, Any], asking: Asking) -> HttpAnswer:
        timeout = body["wait"] + POLL_GRACE if "wait" in body else CALL_TIMEOUT
        try:
            return await self._wire.post("lease", body, headers={"X-Lease-Owner": owner}, timeout=timeout)
        except NotSent as error:
            asking.nothing_leased()
            raise QueueTrouble(f"can't reach the queue: {error}") from error
        except AnswerTooLarge as error:
            raise self._too_large(asking, body["limit"], error) from error
        except HttpError as error:
            asking.lost()
            raise QueueTrouble(f"no answer to a lease: {error}") from error
        except BaseException:  # cancelled while it was under way
            asking.lost()
            raise

    def _too_large(self, asking: Asking, limit: int, error: AnswerTooLarge) -> QueueTrouble:
        self._one_only = True
        if limit > 1:
            asking.too_large()
            return QueueTrouble(f"can't read the leased tasks, next a single one is asked for: {error}")
        asking.lost(GIANT_AWAY)
        return QueueTrouble(f"can't read the leased task, it goes back for {GIANT_AWAY:g} s: {error}")

    def _read(self, answer: HttpAnswer, asking: Asking) -> LeasedTasks:
        if answer.status == HTTPStatus.OK:
            try:
                return read_tasks(answer.body)
            except ValueError as error:
                asking.lost()
                raise trouble(answer, self._clock.wall()) from error
        if HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            asking.nothing_leased()
        else:
            asking.lost()
        raise trouble(answer, self._clock.wall())

    def _leased(
        self, found: LeasedTasks, owner: str, asked: Moment, answer: HttpAnswer, generation: Generation
    ) -> Leased:
        def lease(task: Task) -> Lease:
            expires, ends_at = lease_end(task.lease_expires, asked, answer.headers)
            if generation.fenced:
                return FencedLease(task=task, owner=owner, expires=expires, ends_at=ends_at, generation=generation)
            return Lease(task=task, owner=owner, expires=expires, ends_at=ends_at)

        if found.nameless and not self._told_nameless:
            self._told_nameless = True
            _log.warning("skipped tasks without a usable id", tasks=found.nameless, lease_owner=owner)
        return Leased(
            leases=[lease(task) for task in found.tasks],
            unusable=[Unusable(lease(broken.task), broken.reason) for broken in found.broken],
        )

    def _hold_back(self, leased: Leased, generation: Generation) -> Leased:
        """Gives back what must not be executed now, and returns the rest."""
        now = self._clock.boottime()
        due = {lease.task.id: self._due(lease.task.id, now, generation) for lease in _all(leased)}
        for lease in _all(leased):
            if (moment := due[lease.task.id]) is not None:
                _log.debug("task handed out before its time, it goes back", task=lease.task.id, seconds=moment - now)
                fence = lease.fence if isinstance(lease, FencedLease) else None
                self._give_backs.add(lease.task.id, due=moment, ends_at=lease.ends_at, fence=fence)
        return Leased(
            leases=[lease for lease in leased.leases if due[lease.task.id] is None],
            unusable=[broken for broken in leased.unusable if due[broken.lease.task.id] is None],
        )

    def _due(self, task_id: int, now: float, generation: Generation) -> float | None:
        """When the task may be executed; None for now."""
        if generation.hides_leases and (due := self._waits.due(task_id, now)) is not None:
            return due
        # A report of its last execution is on its way, or its answer was lost: it has put the task back already. By a
        # little later it has been repeated; if the task went back at once, it would be handed out again at once.
        return now + MIN_YIELD if self._attempts.is_open(task_id, now) else None


def _all(leased: Leased) -> list[Lease]:
    return [*leased.leases, *(broken.lease for broken in leased.unusable)]


def _body(request: LeaseRequest, limit: int, generation: Generation) -> dict[str, Any]:
    body: dict[str, Any] = {"limit": limit}
    if generation.features.class_filter and request.classes.only:
        body["taskClasses"] = list(request.classes.only)
    if generation.features.class_exclusion and request.classes.without:
        body["excludeTaskClasses"] = list(request.classes.without)
    if (wait := min(request.wait, generation.features.long_poll)) > 0:
        body["wait"] = wait
    return body
