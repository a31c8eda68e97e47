"""Opening a connection, and what its session is told before anything else."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any, TypeAlias

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT

from gorge_worker.queues.mysql.url import MysqlAddress

CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 20.0
"""Seconds; longer than any statement here takes, a wait for a lock included."""
LOCK_TIMEOUT = 2
"""Seconds that a statement waits for another transaction's lock before it is tried anew."""

SESSION = (
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION time_zone = '+00:00', SESSION completion_type = 'NO_CHAIN', "
    "SESSION sql_select_limit = 18446744073709551615, "
    f"SESSION innodb_lock_wait_timeout = {LOCK_TIMEOUT}"
)
ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"

Connect: TypeAlias = "Callable[[], Connection[Any]]"  # generic for type checkers only


def connector(address: MysqlAddress, open_connection: Callable[..., Connection[Any]] = pymysql.connect) -> Connect:
    """A function that opens a connection, and raises what PyMySQL raises."""

    def connect() -> Connection[Any]:
        connection = open_connection(
            host=address.host,
            port=address.port,
            unix_socket=address.unix_socket or None,
            user=address.user,
            # As bytes: the driver would take text for latin-1, which few passwords beyond ASCII are.
            password=address.password.encode(errors="surrogateescape"),
            database=address.database,
            charset="utf8mb4",
            autocommit=True,
            # A condition that is met counts as a match, also where the row had those values already.
            client_flag=CLIENT.FOUND_ROWS,
            connect_timeout=CONNECT_TIMEOUT,
            read_timeout=ANSWER_TIMEOUT,
            write_timeout=ANSWER_TIMEOUT,
            ssl=_tls(address),
            ssl_disabled=not address.tls,
        )
        try:
            with connection.cursor() as cursor:
                cursor.execute(SESSION)
                cursor.execute(ISOLATION)
        except BaseException:
            connection.close()
            raise
        return connection

    return connect


def _tls(address: MysqlAddress) -> ssl.SSLContext | None:
    if not address.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=address.ssl_ca or None)
        context.check_hostname = address.verify_identity
        if address.ssl_cert:
            context.load_cert_chain(address.ssl_cert, address.ssl_key or None)
    except OSError as error:
        files = ", ".join(filter(None, (address.ssl_ca, address.ssl_cert, address.ssl_key)))
        raise OSError(f"the certificates in {files} can't be used: {error}") from error
    return context
