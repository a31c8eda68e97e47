"""Which generation of the protocol the queue speaks."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import msgspec
import structlog

from gorge_worker.clock import Clock
from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import HttpError
from gorge_worker.queues.gorge.envelope import UNREADABLE, Data, trouble
from gorge_worker.queues.gorge.queue_time import LEASE_DURATION
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import LONG_POLL, Features

STALE = 10.0
"""Seconds without an answer to a lease, after which meta is asked for again: the queue may have been replaced in
between, and a worker that asks for nothing notices no outage."""

_log = structlog.get_logger()


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """What `GET /api/queue/meta` tells.

    `fenced`: reports and renewals name the lease that they are made under, and count under no other. `release` is an
    outcome that puts a task back at once. A lease lasts `lease_duration` seconds.
    """

    execution_version: int = 0
    fenced: bool = False
    release: bool = False
    lease_duration: int = LEASE_DURATION
    features: Features = Features()
    hides_leases: bool = False
    """A queue without meta is the Go server of generation 0, whose leases need lanes (queue contract, facts 3, 4)
    and which does not keep the wait of a failed task (fact 2)."""


LONGEST_RENEWAL = 604_800
"""Seconds; a queue renews for no longer (queue contract)."""
PLAIN = Generation(hides_leases=True)


POLL_SHARE = 0.1
"""Of a lease's length that a long poll may last: what it brings counts from when it was asked for, as the worker can't
know when in between it was leased."""


class _Meta(msgspec.Struct, rename="camel"):
    execution_version: int
    lease_outcomes: bool | None = None
    long_poll: bool | None = None
    lease_duration: int | None = None
    exclude_task_classes: bool | None = None
    release: bool | None = None

    @property
    def is_fenced(self) -> bool:
        return self.execution_version >= 1 and bool(self.lease_outcomes)

    def longest_poll(self) -> float:
        if not self.long_poll:
            return 0.0
        return LONG_POLL if self.lease_duration is None else min(LONG_POLL, self.lease_duration * POLL_SHARE)


_decoder = msgspec.json.Decoder(Data[_Meta])


class Meta:
    """Asks for meta before the first lease, and again after every outage, one between two calls included: another queue
    may have come up.
    """

    def __init__(self, wire: Wire, clock: Clock) -> None:
        self._wire = wire
        self._clock = clock
        self._latest = Generation()
        self._is_fresh = False
        self._answered_at = 0.0
        self._was_told = False
        self._asking = asyncio.Lock()

    @property
    def latest(self) -> Generation:
        """As far as it is known now."""
        return self._latest

    def forget(self) -> None:
        """There was trouble: to be asked again before anything is leased."""
        self._is_fresh = False

    def answered(self) -> None:
        """The queue has answered a lease: it is still the one that was asked for meta."""
        self._answered_at = self._clock.boottime()

    async def known(self) -> Generation:
        """Asks where needed. Raises QueueTrouble for every answer but a usable one and a 404."""
        async with self._asking:
            if not self._is_fresh or self._clock.boottime() - self._answered_at > STALE:
                generation = await self._ask()
                if generation != self._latest or not self._was_told:
                    self._tell(generation)
                self._latest, self._is_fresh = generation, True
                self.answered()
        return self._latest

    async def _ask(self) -> Generation:
        try:
            answer = await self._wire.get("meta")
        except HttpError as error:
            raise QueueTrouble(f"can't ask the queue what it speaks: {error}") from error
        if answer.status == HTTPStatus.NOT_FOUND:
            return PLAIN
        if answer.status != HTTPStatus.OK:
            raise trouble(answer, self._clock.wall())
        try:
            meta = _decoder.decode(answer.body).data
        except UNREADABLE as error:
            raise trouble(answer, self._clock.wall()) from error
        return Generation(
            execution_version=meta.execution_version,
            fenced=meta.is_fenced,
            release=bool(meta.release),
            lease_duration=min(max(meta.lease_duration or LEASE_DURATION, 1), LONGEST_RENEWAL),
            features=Features(
                class_filter=True,
                class_exclusion=bool(meta.exclude_task_classes),
                renews=meta.is_fenced,
                long_poll=meta.longest_poll(),
            ),
        )

    def _tell(self, generation: Generation) -> None:
        self._was_told = True
        _log.info(
            "connected to the queue",
            execution_version=generation.execution_version,
            fenced=generation.fenced,
            class_filter=generation.features.class_filter,
            long_poll=generation.features.long_poll,
        )
