"""What callers of the queue's API say outside of bodies: queries, ids in paths, owners in headers."""

from __future__ import annotations

import random
import re

import msgspec
from aiohttp import web

from gorge_worker.queues.checks import check_owner
from gorge_worker.queues.store import DELAY_OWNER, MAX_UNSIGNED, RETRY_OWNER, YIELD_OWNER
from gorge_worker.web.errors import Refused

OWNER_HEADER = "X-Lease-Owner"
PAGE = 100
"""Tasks in a listing, unless its `limit` says otherwise."""
MAX_PAGE = 10_000
"""The most tasks that one listing shows."""

_WITHOUT_LEASE = {DELAY_OWNER, RETRY_OWNER, YIELD_OWNER}
# No port and no more of the address than leaves room for the random part.
_ADDRESS_LETTERS = 45
# A longer number is no id of any store, and int() has a limit of its own.
_NUMBER = re.compile("[0-9]{1,100}")


class Page(msgspec.Struct, frozen=True):
    """A part of the listing of active tasks, those of one lease owner or of all."""

    limit: int
    offset: int
    owner: str | None


def page_of(request: web.Request) -> Page:
    """Reads `limit`, `offset` and `leaseOwner`. Raises Refused, and BadTask for what can be no owner."""
    query = request.query
    limit = _number("limit", query.get("limit") or str(PAGE))
    if limit == 0:
        raise Refused(400, "limit must be at least 1")
    offset = _number("offset", query.get("offset") or "0")
    if owner := query.get("leaseOwner"):
        check_owner(owner)
    # No store has more rows than ids.
    return Page(min(limit, MAX_PAGE), min(offset, MAX_UNSIGNED), owner or None)


def task_id_of(request: web.Request) -> int:
    """The id in the path. Raises Refused."""
    task_id = _number("the task's id", request.match_info["id"])
    if task_id == 0:
        raise Refused(400, "the task's id must be above 0")
    return task_id


def lease_owner_of(request: web.Request, rng: random.Random) -> str:
    """The owner that the caller names, or one made up from its address that nobody has used.

    Raises Refused, and BadTask for what can be no owner.
    """
    owner = request.headers.get(OWNER_HEADER)
    if not owner:
        return f"{(request.remote or 'unknown')[:_ADDRESS_LETTERS]}:{rng.getrandbits(64):016x}"
    check_owner(owner)
    # A leased task under one of these names would pass for one that waits.
    if owner in _WITHOUT_LEASE:
        raise Refused(400, f"{OWNER_HEADER} must not be {owner}, which marks tasks without a lease")
    return owner


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Refused(400, f"{name} must be a whole number, 0 or more")
    return int(text)
