"""The queue in one SQLite file: Phorge's tables, one writing thread, commits in groups."""

from gorge_worker.queues.sqlite.store import SqliteStore
from gorge_worker.queues.sqlite.url import sqlite_path

__all__ = ["SqliteStore", "sqlite_path"]
