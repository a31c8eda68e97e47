"""Whole workers on the product's own queue server, over real sockets, while answers and calls are lost at random."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.go_queue import ShiftedClock
from support.memory_queue import CLASS, FakeHandler
from support.waiting import until_true
from support.web import LOOPBACK, serving

from gorge_worker.engine.options import EngineOptions
from gorge_worker.engine.worker import Worker
from gorge_worker.http_client import HttpAnswer, HttpClient, NoAnswer, NotSent
from gorge_worker.model import Lease, NewTask, Outcome
from gorge_worker.queues.gorge import GorgeQueue
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.sqlite import SqliteStore
from gorge_worker.registry import Registry
from gorge_worker.web.guard import Guard
from gorge_worker.web.queue_api import queue_app

TASKS = 120


class LossyHttp(HttpClient):
    """Loses calls before they are sent, and answers after they were made."""

    def __init__(self, url: str, rng: random.Random) -> None:
        super().__init__(url, headers={}, connections=8)
        self._rng = rng
        self.losses = 0.1

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None,  # noqa: ASYNC109 - the client's own interface
        max_answer: int,
    ) -> HttpAnswer:
        if self._rng.random() < self.losses:
            raise NotSent("lost on the way")
        answer = await super().request(method, path, body=body, headers=headers, timeout=timeout, max_answer=max_answer)
        if self._rng.random() < self.losses:
            raise NoAnswer("lost on the way back")
        return answer


@asynccontextmanager
async def running(url: str, handler: FakeHandler, clock: ShiftedClock, seed: int) -> AsyncIterator[LossyHttp]:
    rng, registry = random.Random(seed), Registry()
    registry.register(CLASS, handler)
    http = LossyHttp(url, rng)
    queue = GorgeQueue(http, OwnerNames(clock, rng), clock, rng)
    options = EngineOptions(max_workers=4, lease_limit=4, poll_interval=0.05)
    worker = Worker(queue=queue, registry=registry, options=options, clock=clock, rng=rng, hide_secrets=str)
    run = asyncio.create_task(worker.run())
    try:
        yield http
    finally:
        http.losses = 0.0
        worker.drain()
        await run
        await queue.close()


@pytest.mark.limit(90)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_nothing_is_lost_and_nothing_is_finished_twice(seed: int, tmp_path: Path) -> None:
    rng, clock = random.Random(seed), ShiftedClock()
    executed: Counter[int] = Counter()

    async def execute(lease: Lease) -> Outcome:
        executed[lease.task.id] += 1
        await asyncio.sleep(rng.choice([0, 0.01]))
        if lease.task.failure_count == 0 and lease.task.id % 5 == 0:
            return Outcome.temporary_failure("every fifth one", 1)
        return Outcome.success((NewTask(task_class="Child", data=str(lease.task.id)),))

    handler = FakeHandler(execute)
    store = await SqliteStore.open(tmp_path / "queue.db", retry_wait=300, clock=clock)
    service = QueueService(store, lease_duration=300, clock=clock, rng=rng)
    guard = Guard(LOOPBACK, "")
    try:
        await service.enqueue([NewTask(task_class=CLASS) for _ in range(TASKS)])
        async with serving(queue_app(service, guard, rng), guard) as server:
            url = f"http://127.0.0.1:{server.port}"
            async with running(url, handler, clock, seed), running(url, handler, clock, seed + 100):

                async def done() -> bool:
                    clock.ahead += 0.5  # so that nobody waits for waits and leases to run out
                    return (await service.stats()).archived == TASKS

                await until_true(done, within=80, what="all tasks archived")
            children = Counter([task.data for task in await service.lease(owner="me", limit=1000)])
            assert children == {str(task_id): 1 for task_id in range(1, TASKS + 1)}
            assert set(executed) == set(range(1, TASKS + 1))
            assert handler.overlaps == []
    finally:
        await service.close()
