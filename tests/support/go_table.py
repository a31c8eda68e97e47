"""The rows of the Go queue server, and what the queries of both its generations do to them (queue contract)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass
class Row:
    """An archived row has a result, and keeps the lease that it was archived under."""

    id: int
    task_class: str
    data: str
    priority: int
    owner: str | None = None
    expires: int | None = None
    failures: int = 0
    result: str | None = None

    def wire(self) -> dict[str, Any]:
        fields = {
            "id": self.id,
            "taskClass": self.task_class,
            "leaseOwner": self.owner,
            "leaseExpires": self.expires,
            "failureCount": self.failures,
            "dataID": self.id,
            "priority": self.priority,
            "data": self.data,
        }
        return {name: value for name, value in fields.items() if value is not None}


class GoTable:
    """Generation 0. `now` gives epoch seconds."""

    lease_duration = 7200

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.rows: dict[int, Row] = {}

    def now(self) -> int:
        return int(self._now())

    def active(self) -> list[Row]:
        rows = (row for row in self.rows.values() if row.result is None)
        return sorted(rows, key=lambda row: (row.priority, row.id))

    def enqueue(self, task_class: str = "Some", data: str = "{}", priority: int = 2000) -> Row:
        row = self.rows[len(self.rows) + 1] = Row(len(self.rows) + 1, task_class, data, priority)
        return row

    def lease(self, owner: str, limit: int) -> list[Row]:
        """Takes new rows and due ones, up to the limit each, and returns up to the limit of what the owner has."""
        now = self.now()
        new = [row for row in self.active() if row.owner is None][:limit]
        due = [row for row in self.active() if row.owner is not None and (row.expires or 0) < now]
        due.sort(key=lambda row: row.expires or 0)
        for row in new + due[:limit]:
            row.owner, row.expires = owner, now + self.lease_duration
        return [row for row in self.active() if row.owner == owner and (row.expires or 0) >= now][:limit]

    def archive(self, task_id: int, result: str) -> bool:
        row = self.rows.get(task_id)
        if row is None or row.result is not None:
            return False
        row.result = result
        return True

    def fail(self, task_id: int, wait: int) -> None:
        if (row := self.rows.get(task_id)) and row.result is None:
            row.owner, row.expires, row.failures = None, self.now() + wait, row.failures + 1

    def yield_(self, task_id: int, seconds: int) -> None:
        if (row := self.rows.get(task_id)) and row.result is None:
            row.owner, row.expires = "(yield)", self.now() + max(5, seconds)

    def stranded(self) -> list[Row]:
        """Rows that some worker's lease keeps from everybody else."""
        now = self.now()
        return [row for row in self.active() if row.owner not in (None, "(yield)") and (row.expires or 0) >= now]


class Conflict(Exception):
    """The lease is not, or no longer, the one that the row has."""


class FencedGoTable(GoTable):
    """Generation 1: waits are kept, nothing is hidden, and a lease can be spoken under."""

    def lease_some(self, owner: str, limit: int, classes: Sequence[str]) -> list[Row]:
        """Takes up to the limit, new rows first, and returns what this call has taken."""
        now = self.now()
        wanted = [row for row in self.active() if not classes or row.task_class in classes]
        new = [row for row in wanted if row.owner is None and row.expires is None]
        due = [row for row in wanted if row.expires is not None and row.expires < now]
        taken = (new + due)[:limit]
        for row in taken:
            row.owner, row.expires = owner, now + self.lease_duration
        return taken

    def held(self, task_id: int, owner: str, expires: int) -> Row:
        """Raises Conflict."""
        row = self.rows.get(task_id)
        if row is None or row.result or (row.owner, row.expires) != (owner, expires) or expires <= self.now():
            raise Conflict
        return row

    def finalize(self, task_id: int, owner: str, expires: int, followups: Sequence[dict[str, Any]]) -> None:
        """Raises Conflict. What was archived under the same lease is a repetition, and stays as it is."""
        archived = self.rows.get(task_id)
        if archived and archived.result == "success" and (archived.owner, archived.expires) == (owner, expires):
            return
        parent = self.held(task_id, owner, expires)
        for one in followups:
            self.enqueue(one["taskClass"], one.get("data", ""), one.get("priority", parent.priority))
        parent.result = "success"

    def renew(self, task_id: int, owner: str, expires: int, seconds: int) -> Row:
        """Raises Conflict."""
        row = self.held(task_id, owner, expires)
        row.expires = max(expires, self.now() + seconds)
        return replace(row, data="")
