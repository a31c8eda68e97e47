from __future__ import annotations

import ssl

import pytest
from pymysql import err

from gorge_worker.queues.mysql.session import returns_ids
from gorge_worker.queues.mysql.trouble import Again, Away, DoesNotFit, Duplicate, Locked, explain
from gorge_worker.queues.store import StoreError

WHERE = "tasks of gorge at db:3306"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (err.OperationalError(1213, "Deadlock found"), Again),
        (err.OperationalError(1205, "Lock wait timeout exceeded"), Locked),
        (err.OperationalError(1020, "Record has changed since last read"), Again),
        (err.OperationalError(2003, "Can't connect"), Away),
        (err.OperationalError(2006, "MySQL server has gone away"), Away),
        (err.OperationalError(2013, "Lost connection"), Away),
        (err.OperationalError(1053, "Server shutdown in progress"), Away),
        (err.OperationalError(1290, "running with the --read-only option"), Away),
        (err.InternalError(1836, "Running in read-only mode"), Away),
        (err.OperationalError(1047, "WSREP has not yet prepared node"), Away),
        (err.OperationalError(1045, "Access denied"), Away),
        (err.OperationalError(1049, "Unknown database"), Away),
        (err.InterfaceError(0, ""), Away),
        (ConnectionResetError("reset"), Away),
        (ssl.SSLError("certificate verify failed"), Away),
        (EOFError(), Away),
        (err.DataError(1406, "Data too long"), DoesNotFit),
        (err.OperationalError(1366, "Incorrect string value"), DoesNotFit),
        (err.OperationalError(1153, "Got a packet bigger than 'max_allowed_packet' bytes"), DoesNotFit),
        (err.DataError(9999, "something new"), DoesNotFit),
        (err.IntegrityError(1062, "Duplicate entry"), Duplicate),
        (err.OperationalError(1142, "INSERT command denied"), StoreError),
        (err.ProgrammingError(1064, "You have an error in your SQL syntax"), StoreError),
    ],
)
def test_an_error_is_told_by_its_number(error: Exception, kind: type[StoreError]) -> None:
    explained = explain(error, WHERE)
    assert type(explained) is kind
    assert str(explained).startswith(f"the database {WHERE}: ")


@pytest.mark.parametrize(
    ("number", "advice"), [(1045, "check user and password"), (2003, "host and port"), (1049, "name")]
)
def test_what_an_operator_can_do_is_said(number: int, advice: str) -> None:
    assert advice in str(explain(err.OperationalError(number, "no"), WHERE))


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("10.11.19-MariaDB-0+deb12u1", True),
        ("5.5.5-10.11.6-MariaDB-log", True),
        ("11.4.2-MariaDB", True),
        ("10.5.0-MariaDB", True),
        ("10.4.34-MariaDB", False),
        ("8.0.36", False),
        ("5.7.44-log", False),
        ("", False),
    ],
)
def test_only_mariadb_returns_the_ids_that_it_gives(version: str, known: bool) -> None:  # noqa: FBT001 (drawn)
    assert returns_ids(version) is known
