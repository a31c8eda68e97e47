"""One transaction of one connection, as the store's operations see it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from pymysql.connections import Connection

Row = tuple[Any, ...]

RETURNING_SINCE = (10, 5)
_MARIADB = re.compile(r"(\d+)\.(\d+)\.\d+-MariaDB", re.IGNORECASE)


class Session:
    """Executes statements. `now` is the server's clock in epoch seconds, read when the session began; `returns_ids`
    tells whether an INSERT can return the ids that the server has given (MariaDB, INSERT ... RETURNING).
    """

    def __init__(self, connection: Connection[Any], now: int) -> None:
        self._connection = connection
        self.now = now
        self.server_version = str(connection.get_server_info())  # type: ignore[no-untyped-call]
        self.returns_ids = returns_ids(self.server_version)

    def rows(self, statement: str, values: Sequence[object] = ()) -> Sequence[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cast("Sequence[Row]", cursor.fetchall())

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Returns how many rows the statement's condition has met, changed or not."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(statement, values or None))

    def insert_id(self, statement: str, values: Sequence[object] = ()) -> int:
        """Returns the id that the server has given, or that LAST_INSERT_ID(n) has set."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return int(cursor.lastrowid or 0)

    def size(self, value: str) -> int:
        """Bytes that a value takes in a statement."""
        with self._connection.cursor() as cursor:
            return len(cursor.mogrify("%s", (value,)).encode())


def marks(count: int, one: str = "%s") -> str:
    """So many placeholders, separated by commas."""
    return ", ".join([one] * count)


def returns_ids(server_version: str) -> bool:
    """Whether a server of this version knows INSERT ... RETURNING: MariaDB from 10.5, MySQL not at all."""
    # Behind some proxies MariaDB calls itself 5.5.5-10.11.6-MariaDB.
    found = _MARIADB.search(server_version)
    return found is not None and (int(found[1]), int(found[2])) >= RETURNING_SINCE
