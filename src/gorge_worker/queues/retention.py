"""How long a store of the product's own keeps what is done."""

from __future__ import annotations

RETENTION = 14 * 86_400
"""Seconds for which an archived task is kept after its archival, and an event's id after its first coming (Phorge's
default for archived tasks)."""
PAUSE = 3600.0
"""Seconds between two collections."""
