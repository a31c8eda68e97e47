"""The databases of one namespace, as the suite looks at them."""

from __future__ import annotations

import contextlib
from typing import Any, cast

import pymysql
from phorge.support.given import Server
from pymysql.connections import Connection
from pymysql.cursors import DictCursor

Row = dict[str, Any]


class Databases:
    """Statements on a namespace's databases, each committed at once."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._server = server
        self.namespace = namespace
        self._connections: dict[str, Connection[Any]] = {}

    def url(self, application: str) -> str:
        return self._server.url(f"{self.namespace}_{application}")

    def rows(self, application: str, statement: str, *values: object) -> list[Row]:
        """What a statement on one application's database answers."""
        if application not in self._connections:
            self._connections[application] = self._connect(f"{self.namespace}_{application}")
        with self._connections[application].cursor() as cursor:
            cursor.execute(statement, values or None)
            return cast("list[Row]", list(cursor.fetchall()))

    def drop(self) -> None:
        """Drops every database of the namespace."""
        while self._connections:
            self._connections.popitem()[1].close()
        with contextlib.closing(self._connect(None)) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW DATABASES")
            for name in [str(next(iter(row.values()))) for row in cursor.fetchall()]:
                if name.startswith(f"{self.namespace}_"):
                    cursor.execute(f"DROP DATABASE `{name}`")

    def _connect(self, database: str | None) -> Connection[Any]:
        connection = pymysql.connect(
            host=self._server.host,
            port=self._server.port,
            user=self._server.user,
            password=self._server.password,
            database=database,
            cursorclass=DictCursor,
            autocommit=True,
        )
        return cast("Connection[Any]", connection)
