"""How many places of a lease are for due tasks: a stream of new ones must not starve them (queue contract)."""

from __future__ import annotations

from gorge_worker.queues.protocol import ClassFilter

TURN = 4
"""Every fourth place is a due task's while there are any."""
MAX_FILTERS = 1000
"""Class filters whose turns are remembered."""


class Turns:
    """Whose turn is the first place, a new task's or a due one's.

    Counted for each class filter apart, so that two workers that ask in turn do not always meet the same one.
    """

    def __init__(self) -> None:
        self._calls: dict[ClassFilter, int] = {}

    def due_first(self, classes: ClassFilter) -> bool:
        """True at every fourth call of a filter."""
        if len(self._calls) >= MAX_FILTERS:
            self._calls.clear()
        call = self._calls[classes] = (self._calls.get(classes, 0) + 1) % TURN
        return call == 0


def share(new: list[int], due: list[int], limit: int, *, due_first: bool) -> tuple[list[int], list[int]]:
    """The new and the due tasks that get the places, of those that are first in line; both may be shorter."""
    quarter = -(-limit // TURN) if limit > 1 else int(due_first)
    due = due[: max(quarter, limit - len(new))]
    return new[: limit - len(due)], due
