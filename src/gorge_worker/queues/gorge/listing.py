"""Finding the tasks that are leased under given owners, in a listing that moves while it is read."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec
import structlog

from gorge_worker.clock import Clock
from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import HttpAnswer, HttpError
from gorge_worker.queues.gorge.envelope import UNCONVERTIBLE, UNREADABLE, Data, read_data_loosely, trouble
from gorge_worker.queues.gorge.queue_time import queue_clock
from gorge_worker.queues.gorge.wire import Wire

PAGE = 500
DEFAULT_PAGE = 100
"""What a queue gives unless told (queue contract): a shorter page is the last, whatever limit it has of its own."""
OVERLAP = 50
"""Rows that are read twice: tasks that leave the queue meanwhile let the later ones move up."""
MOST_PAGES = 200
ENDS_SOON = 30.0
"""Seconds; a lease that ends within them is left alone. It frees its task by itself, and a call that is still on its
way then would hit whoever has the task next (queue contract, fact 1)."""

_log = structlog.get_logger()


class NoListing(QueueTrouble):
    """The queue has no listing."""


class LeasedRow(msgspec.Struct, frozen=True, rename="camel"):
    """A task as the listing shows it, as far as it matters here."""

    id: int
    lease_owner: str | None = None
    lease_expires: int | None = None


class Found(msgspec.Struct, frozen=True):
    """A task that is leased under one of the owners asked for; `seconds_left` of its lease, which ends at `expires`."""

    task_id: int
    owner: str
    expires: int
    seconds_left: float


_rows = msgspec.json.Decoder(Data[list[LeasedRow] | None])


async def find_leased(wire: Wire, owners: Collection[str], clock: Clock) -> list[Found]:
    """All tasks under these owners. Raises NoListing, or QueueTrouble when there is no usable answer."""
    found: dict[int, Found] = {}
    offset, last_ids = 0, frozenset[int]()
    for _ in range(MOST_PAGES):
        answer = await _page(wire, owners, offset, clock)
        rows = _read(answer, clock)
        now = queue_clock(answer.headers, clock.wall())
        for row in rows:
            if row.lease_owner in owners and row.lease_expires and row.lease_expires - now > ENDS_SOON:
                found[row.id] = Found(row.id, row.lease_owner or "", row.lease_expires, row.lease_expires - now)
        ids = frozenset(row.id for row in rows)
        if last_ids and ids and not ids & last_ids:  # so many have left that some were passed over
            offset, last_ids = max(0, offset - PAGE), frozenset() if offset <= PAGE else last_ids
        elif len(rows) < DEFAULT_PAGE or ids <= last_ids:
            return list(found.values())
        else:
            offset, last_ids = max(0, offset + len(rows) - OVERLAP), ids
    _log.warning("the queue is too long to be looked through, leases may have to run out", rows=MOST_PAGES * PAGE)
    return list(found.values())


async def _page(wire: Wire, owners: Collection[str], offset: int, clock: Clock) -> HttpAnswer:
    query: dict[str, str | int] = {"limit": PAGE, "offset": offset}
    if len(owners) == 1:  # this product's own server then lists that owner's tasks only
        query["leaseOwner"] = next(iter(owners))
    try:
        answer = await wire.get(f"tasks?{urlencode(query)}")
    except HttpError as error:
        raise QueueTrouble(f"can't list the queue's tasks: {error}") from error
    if answer.status == HTTPStatus.NOT_FOUND:
        raise NoListing("the queue has no listing of its tasks")
    if answer.status != HTTPStatus.OK:
        raise trouble(answer, clock.wall())
    return answer


def _read(answer: HttpAnswer, clock: Clock) -> list[LeasedRow]:
    try:
        return _rows.decode(answer.body).data or []
    except UNREADABLE:
        pass
    try:
        entries = read_data_loosely(answer.body)
    except ValueError as error:
        raise trouble(answer, clock.wall()) from error
    if not isinstance(entries, list):
        raise trouble(answer, clock.wall())
    return [row for entry in entries if (row := _row(entry))]


def _row(entry: object) -> LeasedRow | None:
    """None for an entry that can't be given back, as its id can't be told."""
    try:
        return msgspec.convert(entry, LeasedRow)
    except UNCONVERTIBLE:
        return None
