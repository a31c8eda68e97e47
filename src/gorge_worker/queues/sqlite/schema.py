"""The tables, named and shaped as Phorge's own (`worker_*`), so that the same records read the same everywhere.

No column is checked by the database, as none is in Phorge: see `rows` for what becomes of a row that another program
has written nonsense into.
"""

from __future__ import annotations

APPLICATION_ID = 0x676F7267
"""`gorg`, in the file's header: tells this product's databases from everybody else's."""
VERSION = 2
"""Of the schema, in the file's header. A higher one is a newer product's, and refused."""

COUNTER = "worker_activetask"
"""The row of `lisk_counter` that gives ids to tasks, as in Phorge: an id is never used again."""

_TASK = """
    id INTEGER PRIMARY KEY,
    taskClass TEXT NOT NULL,
    leaseOwner TEXT,
    leaseExpires INTEGER,
    failureCount INTEGER NOT NULL,
    dataID INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    objectPHID TEXT,
    containerPHID TEXT,
    dateCreated INTEGER NOT NULL,
    dateModified INTEGER NOT NULL
"""

ADD_EVENTS = """
    CREATE TABLE gorge_event
        (eventID TEXT PRIMARY KEY, digest TEXT NOT NULL, task TEXT NOT NULL, dateCreated INTEGER NOT NULL)
        WITHOUT ROWID;
    CREATE INDEX event_created ON gorge_event (dateCreated);
"""
UPGRADES = {1: ADD_EVENTS}
"""What leads from each version to the next."""

CREATE = f"""
    CREATE TABLE worker_activetask ({_TASK}, failureTime INTEGER);
    CREATE TABLE worker_archivetask
        ({_TASK}, result INTEGER NOT NULL, duration INTEGER NOT NULL, archivedEpoch INTEGER);
    CREATE TABLE worker_taskdata (id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT NOT NULL);
    CREATE TABLE lisk_counter (counterName TEXT PRIMARY KEY, counterValue INTEGER NOT NULL) WITHOUT ROWID;

    CREATE INDEX active_by_owner ON worker_activetask (leaseOwner, priority, id);
    CREATE INDEX active_new_by_class ON worker_activetask (taskClass, priority, id) WHERE leaseOwner IS NULL;
    CREATE INDEX active_due ON worker_activetask (leaseExpires) WHERE leaseOwner IS NOT NULL;
    CREATE INDEX active_due_by_class ON worker_activetask (taskClass, leaseExpires) WHERE leaseOwner IS NOT NULL;
    CREATE INDEX active_by_priority ON worker_activetask (priority, id);
    CREATE INDEX active_failed ON worker_activetask (failureCount) WHERE failureCount > 0;
    CREATE INDEX archive_modified ON worker_archivetask (dateModified);

    PRAGMA application_id = {APPLICATION_ID};
    {ADD_EVENTS}
"""
"""A lease reads an index in order and stops at its limit, with a class filter or without: a million other rows cost it
nothing. The conditions keep each index small: a task that changes hands moves from one to another."""
