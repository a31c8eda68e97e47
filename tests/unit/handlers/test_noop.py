from __future__ import annotations

from support.leases import lease_of

from gorge_worker.handlers.noop import NoopHandler
from gorge_worker.model import Outcome


async def test_every_task_is_acknowledged() -> None:
    assert await NoopHandler().execute(lease_of(data="not json")) == Outcome.success()
