"""The tables of a database of the product's own: Phorge's columns and keys, and one table more for events.

Phorge's own database is used as it is: nothing there is created or altered.
"""

from __future__ import annotations

from gorge_worker.queues.mysql.candidates import KEY_DUE, KEY_NEW
from gorge_worker.queues.mysql.session import Session
from gorge_worker.queues.store import StoreError

EVENTS = "gorge_event"
"""Where it is, the database is the product's own."""
LOCK_WAIT = 10
"""Seconds that one server waits for another one that is creating the tables."""

_TASK = """
    id INT UNSIGNED NOT NULL PRIMARY KEY,
    taskClass VARCHAR(64) NOT NULL,
    leaseOwner VARCHAR(64),
    leaseExpires INT UNSIGNED,
    failureCount INT UNSIGNED NOT NULL,
    dataID INT UNSIGNED NOT NULL,
    priority INT UNSIGNED NOT NULL,
    objectPHID VARBINARY(64),
    containerPHID VARBINARY(64),
    dateCreated INT UNSIGNED NOT NULL,
    dateModified INT UNSIGNED NOT NULL,
    KEY key_object (objectPHID),
    KEY key_container (containerPHID)
"""
_OPTIONS = "ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin"

CREATE = (
    f"""CREATE TABLE IF NOT EXISTS {EVENTS} (eventID VARBINARY(255) NOT NULL PRIMARY KEY, digest VARCHAR(64) NOT NULL,
        task LONGTEXT NOT NULL, dateCreated INT UNSIGNED NOT NULL, KEY dateCreated (dateCreated)) {_OPTIONS}""",
    f"""CREATE TABLE IF NOT EXISTS worker_activetask ({_TASK}, failureTime INT UNSIGNED,
        KEY taskClass (taskClass), KEY leaseExpires (leaseExpires), KEY key_failuretime (failureTime),
        KEY key_owner (leaseOwner, priority, id)) {_OPTIONS}""",
    f"""CREATE TABLE IF NOT EXISTS worker_archivetask ({_TASK}, result INT UNSIGNED NOT NULL,
        duration BIGINT UNSIGNED NOT NULL, archivedEpoch INT UNSIGNED,
        KEY dateCreated (dateCreated), KEY key_modified (dateModified)) {_OPTIONS}""",
    f"""CREATE TABLE IF NOT EXISTS worker_taskdata
        (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, data LONGTEXT NOT NULL) {_OPTIONS}""",
    f"""CREATE TABLE IF NOT EXISTS lisk_counter
        (counterName VARCHAR(32) NOT NULL PRIMARY KEY, counterValue BIGINT UNSIGNED NOT NULL) {_OPTIONS}""",
)
"""The first one makes the database the product's own: what is interrupted after it is completed by the next start."""

TABLES = frozenset({"worker_activetask", "worker_archivetask", "worker_taskdata", "lisk_counter"})


def prepare(session: Session, *, create: bool) -> bool:
    """Sees that the tables are there, creates them in an empty database where that is wanted, and tells whether the
    database is the product's own. Raises StoreError with what to do.
    """
    if create:
        _create(session)
    present = _tables(session)
    if missing := TABLES - present:
        raise StoreError(
            f"the database has no table {', '.join(sorted(missing))}: name Phorge's database of tasks, which is "
            "{namespace}_worker, or an empty one and --create-schema for a queue of your own"
        )
    keys = {str(row[2]) for row in session.rows("SHOW KEYS FROM worker_activetask")}
    if unkeyed := {KEY_NEW, KEY_DUE} - keys:
        raise StoreError(
            f"the table worker_activetask has no key {', '.join(sorted(unkeyed))}, without which a long queue can't be"
            " leased from: repair Phorge's keys with `bin/storage adjust`"
        )
    return EVENTS in present


def _create(session: Session) -> None:
    [[got]] = session.rows("SELECT GET_LOCK(CONCAT('gorge-worker ', DATABASE()), %s)", (LOCK_WAIT,))
    if got != 1:
        raise StoreError("another gorge-worker has been creating the database's tables for too long")
    try:
        present = _tables(session)
        unfinished = EVENTS in present and not present >= TABLES
        if not present or unfinished:
            for statement in CREATE:
                session.change(statement)
    finally:
        session.rows("SELECT RELEASE_LOCK(CONCAT('gorge-worker ', DATABASE()))")


def _tables(session: Session) -> set[str]:
    return {str(name) for [name] in session.rows("SHOW TABLES")}
