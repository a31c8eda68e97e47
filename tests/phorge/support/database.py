"""The databases of one namespace, as the suite looks at them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, cast

import pymysql
from phorge.support.given import Server
from pymysql.connections import Connection
from pymysql.cursors import DictCursor

Row = dict[str, Any]


class Databases:
    """Statements on a namespace's databases, each on a connection of its own: a server that was restarted in between
    is no matter.
    """

    def __init__(self, server: Server, namespace: str) -> None:
        self._server = server
        self.namespace = namespace

    def url(self, application: str) -> str:
        return self._server.url(f"{self.namespace}_{application}")

    @contextlib.contextmanager
    def _connection(self, database: str | None) -> Iterator[Connection[Any]]:
        connection = pymysql.connect(
            host=self._server.host,
            port=self._server.port,
            user=self._server.user,
            password=self._server.password,
            database=database,
            cursorclass=DictCursor,
            autocommit=True,
        )
        with contextlib.closing(cast("Connection[Any]", connection)) as opened:
            yield opened

    def rows(self, application: str, statement: str, *values: object) -> list[Row]:
        """What a statement on one application's database answers."""
        with self._connection(f"{self.namespace}_{application}") as connection, connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cast("list[Row]", list(cursor.fetchall()))

    def drop(self) -> None:
        """Drops every database of the namespace."""
        with self._connection(None) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW DATABASES")
            for name in [str(next(iter(row.values()))) for row in cursor.fetchall()]:
                if name.startswith(f"{self.namespace}_"):
                    cursor.execute(f"DROP DATABASE `{name}`")
