"""What an error of the database means: try again, a lost connection, a value that does not fit, an operator's task.

The numbers are MySQL's and MariaDB's own.
"""

from __future__ import annotations

from collections.abc import Collection

from pymysql import err

from gorge_worker.queues.store import StoreError

DEADLOCK, LOCK_TIMEOUT, ROW_CHANGED = 1213, 1205, 1020
AGAIN = frozenset({DEADLOCK, ROW_CHANGED})
"""The transaction was undone for the sake of another one: executed anew, it works."""
READ_ONLY = frozenset({1290, 1792, 1836, 1047})
"""This server takes no writes (any more): after a failover another one does (1047: a Galera node that is not ready)."""
LOST = frozenset({1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 2006, 2013, 2014, 2055, 4031})
"""The connection is no more, or about to go: shut down, killed, cut, timed out."""
DOES_NOT_FIT = frozenset({1048, 1153, 1264, 1265, 1292, 1366, 1406, 3988})
"""A value that the columns, their character set or the packet size don't hold."""
DUPLICATE = 1062
NO_PRIVILEGE = 1142
"""Of one table: the connection is as good as any other would be."""

_ADVICE = {
    1044: "give the user SELECT, INSERT, UPDATE and DELETE on the database",
    1045: "check user and password",
    1049: "check the database's name, for Phorge it is {namespace}_worker; this product creates no database",
    NO_PRIVILEGE: "give the user SELECT, INSERT, UPDATE and DELETE on the database",
    1698: "check user and password",
    2002: "check that the database server runs, and the socket's path",
    2003: "check that the database server runs, its host and port",
    2026: "check the ssl options and the server's certificate",
}


class Again(StoreError):
    """The transaction was undone by the database and can be executed anew."""


class Locked(StoreError):
    """Another transaction holds one of the rows for long; nothing was written."""


class Away(StoreError):
    """The database can't be reached, or takes no writes."""


class DoesNotFit(StoreError):
    """One of the values does not fit; nothing was written."""


class TooLong(DoesNotFit):
    """Data that no statement can carry. The message is for callers too."""


class Duplicate(StoreError):
    """There is a row with this key already; nothing was written."""


class CommitLost(Away):
    """The connection was lost during the commit: what was written may be there or not. `result` is what it came to."""

    def __init__(self, reason: str, result: object) -> None:
        super().__init__(reason)
        self.result = result


_KINDS: tuple[tuple[Collection[int], type[StoreError]], ...] = (
    ({LOCK_TIMEOUT}, Locked),
    (AGAIN, Again),
    ({DUPLICATE}, Duplicate),
    (DOES_NOT_FIT, DoesNotFit),
)


def is_of_one(error: StoreError) -> bool:
    """Whether the error may be due to one of the values or rows that were written together, so that the others can be
    written without it.
    """
    return not isinstance(error, Away | Again)


def explain(error: Exception, where: str) -> StoreError:
    """The store's error for an error of the driver; `where` names the database without its password."""
    number = _number(error)
    text = f"the database {where}: {_text(error)}"
    for numbers, kind in _KINDS:
        if number in numbers:
            return kind(text)
    if advice := _ADVICE.get(number):
        text = f"{text}; {advice}"
    if (
        number in LOST
        or number in READ_ONLY
        or (number in _ADVICE and number != NO_PRIVILEGE)
        or not isinstance(error, err.DatabaseError)
    ):
        return Away(text)
    if isinstance(error, err.DataError):
        return DoesNotFit(text)
    return StoreError(text)


def _number(error: Exception) -> int:
    number = error.args[0] if isinstance(error, err.MySQLError) and error.args else 0
    return number if isinstance(number, int) else 0


def _text(error: Exception) -> str:
    if isinstance(error, err.MySQLError) and len(error.args) > 1:
        return f"{error.args[1]} ({error.args[0]})"
    return str(error) or type(error).__name__
