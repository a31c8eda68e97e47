"""How long PHP may take for a task when nobody has set it."""

from __future__ import annotations

from typing import Any

from gorge_worker.whole_seconds import whole_seconds

DEFAULT_DEADLINE = 7200.0
"""Seconds, for classes that ask for nothing (PhabricatorWorkerLeaseQuery::getDefaultLeaseDuration)."""
LONGEST_DEADLINE = 604_800.0
"""Seconds; as long as a lease can be renewed (the queue contract's `renew`)."""


def deadline(lease_duration: Any) -> float:
    """Seconds for a class that asks for `lease_duration` (PhabricatorWorker::getRequiredLeaseTime), whatever it is."""
    seconds = whole_seconds(lease_duration)
    return min(float(seconds), LONGEST_DEADLINE) if seconds else DEFAULT_DEADLINE
