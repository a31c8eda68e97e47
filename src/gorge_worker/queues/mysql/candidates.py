"""Which tasks are first in line: new ones (no owner) by priority and id, due ones by `leaseExpires`.

Both lines are read in the order of an index of Phorge's, `key_owner` and `leaseExpires`, as far as the limit, unless
there are many rows in front that the filter does not want: those are passed over in the database, a bounded number at a
time, and remembered (see `seen`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from gorge_worker.queues.mysql.seen import SeenByFilter
from gorge_worker.queues.mysql.session import Session, marks
from gorge_worker.queues.protocol import ClassFilter

SCAN = 10_000
"""Rows that one look into a line passes over at most (queue contract)."""
KEY_NEW, KEY_DUE = "key_owner", "leaseExpires"
"""Phorge's keys: (leaseOwner, priority, id), and (leaseExpires)."""
SPARE = 20
"""Rows beyond the limit that are read at once: a few unwanted ones between cost no second look."""
WIDER = 8
"""The second look is so many times as wide as the first one, for classes of which not every row is wanted."""


class Condition(NamedTuple):
    text: str
    values: tuple[object, ...] = ()


class Line(NamedTuple):
    """Rows in the order of `column`, then id; `wanted` is what makes one of them a candidate, beside its class.

    The statement names the key: with ranges left out, MariaDB's optimizer reads what was to be passed over.
    """

    key: str
    column: str
    within: Condition
    wanted: Condition

    def select(self, columns: str, limit: int, values: tuple[object, ...] = ()) -> Condition:
        """`values` are those of the placeholders in `columns`."""
        text = (
            f"SELECT {columns} FROM worker_activetask FORCE INDEX ({self.key}) WHERE {self.within.text} "  # noqa: S608 -- no value is in the text
            f"ORDER BY {self.column}, id LIMIT %s"
        )
        return Condition(text, (*values, *self.within.values, limit))


class Found(NamedTuple):
    """The first ids in line; `more` when the look ended before the line did. `passed` are the rows that need not be
    looked at again: `rows` says how many, and the last id of each value of the line's column.
    """

    ids: list[int]
    more: bool = False
    rows: int = 0
    passed: Mapping[int, int] = {}


def find_new(session: Session, classes: ClassFilter, limit: int, seen: SeenByFilter) -> Found:
    """The first tasks without an owner that are not delayed (`bin/worker delay`)."""
    began, known = time.monotonic(), seen.of(classes)
    passed = _beyond(known.new, known.position)
    within = Condition(f"leaseOwner IS NULL{passed.text}", passed.values)
    undelayed = Condition("(leaseExpires IS NULL OR leaseExpires <= %s)", (session.now,))
    line = Line(KEY_NEW, "priority", within, undelayed)
    found = _find(session, line, classes, limit)
    seen.skip(classes, new=found.passed, rows=found.rows, seconds=time.monotonic() - began)
    return found


def find_due(session: Session, classes: ClassFilter, limit: int, seen: SeenByFilter) -> Found:
    """The first tasks whose lease, wait or delay is over."""
    began, position = time.monotonic(), seen.of(classes).due
    within = Condition("leaseExpires < %s", (session.now,))
    if position:
        after = "(leaseExpires > %s OR leaseExpires = %s AND id > %s)"
        within = Condition(f"{within.text} AND {after}", (*within.values, position[0], *position))
    found = _find(session, Line(KEY_DUE, "leaseExpires", within, Condition("TRUE")), classes, limit)
    last = max(found.passed.items(), default=None)
    seen.skip(classes, due=last, rows=found.rows, seconds=time.monotonic() - began)
    return found


def _find(session: Session, line: Line, classes: ClassFilter, limit: int) -> Found:
    of_class = class_condition(classes)
    columns, values = f"id, {of_class.text} AND {line.wanted.text}", (*of_class.values, *line.wanted.values)
    for window in (limit + SPARE, (limit + SPARE) * WIDER):
        rows = session.rows(*line.select(columns, window, values))
        ids = [task_id for task_id, wanted in rows if wanted]
        if len(ids) >= limit or len(rows) < window:
            return Found(ids[:limit])
    return _look_further(session, line, columns, values, limit)


def _look_further(session: Session, line: Line, columns: str, values: tuple[object, ...], limit: int) -> Found:
    """Passes over what is not wanted in the database itself."""
    page = line.select(f"{columns} AS wanted, {line.column}", SCAN, values)
    first = session.rows(
        f"SELECT id, {line.column} FROM ({page.text}) AS page WHERE wanted ORDER BY {line.column}, id LIMIT %s",  # noqa: S608
        (*page.values, limit),
    )
    # Not all that was found need be leased: only what stands before it is passed over.
    before = Condition(f"WHERE ({line.column}, id) < (%s, %s)", first[0][::-1]) if first else Condition("")
    passed = session.rows(
        f"SELECT {line.column}, MAX(id), COUNT(*) FROM ({page.text}) AS page {before.text} GROUP BY {line.column}",  # noqa: S608
        (*page.values, *before.values),
    )
    count = sum(int(number) for _, _, number in passed)
    return Found(
        [task_id for task_id, _ in first],
        more=not first and count >= SCAN,
        rows=count,
        passed={int(value): int(last) for value, last, _ in passed},
    )


def class_condition(classes: ClassFilter) -> Condition:
    """Whether a row's class is wanted."""
    if classes.only:
        return Condition(f"taskClass IN ({marks(len(classes.only))})", classes.only)
    if classes.without:
        return Condition(f"taskClass NOT IN ({marks(len(classes.without))})", classes.without)
    return Condition("TRUE")


def _beyond(passed: Mapping[int, int], position: tuple[int, int] | None = None) -> Condition:
    """Leaves out, priority by priority, the ids up to the given ones: as ranges of the index, in its order. With a
    position (priority, id), all rows up to that.
    """
    if position:
        after = " AND (priority > %s OR priority = %s AND id > %s)"
        return Condition(after, (position[0], *position))
    if not passed:
        return Condition("")
    ranges: list[str] = []
    values: list[int] = []
    last: int | None = None
    for priority in sorted(passed):
        ranges.append("priority < %s" if last is None else "priority > %s AND priority < %s")
        values += [priority] if last is None else [last, priority]
        ranges.append("priority = %s AND id > %s")
        values += [priority, passed[priority]]
        last = priority
    ranges.append("priority > %s")
    return Condition(f" AND ({' OR '.join(ranges)})", (*values, last))
