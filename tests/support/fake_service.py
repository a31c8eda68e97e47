"""A queue service in memory, for tests of what lies in front of it: it records calls, and fails on demand."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from gorge_worker.errors import GorgeWorkerError
from gorge_worker.model import ArchivedTask, ArchiveResult, Lease, NewTask, Task
from gorge_worker.queues.checks import check_event_id, check_new_task
from gorge_worker.queues.protocol import ANY, ClassFilter, Receipt, Report, ReportResult
from gorge_worker.queues.store import NoSuchTask, Renewed, StoreStats

NOW = 1_700_000_000


class FakeService:
    """QueueService's surface. `trouble` is raised by every call; `calls` holds what was asked for, by name."""

    lease_duration = 7200

    def __init__(self) -> None:
        self.active: dict[int, Task] = {}
        self.receipt = ReportResult(Receipt.ACCEPTED)
        self.given_back: list[int] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.trouble: GorgeWorkerError | None = None
        self.waiting = 0
        self._changed = asyncio.Event()
        self._ids = itertools.count(1)

    def arguments(self, name: str) -> dict[str, Any]:
        """What the last call of that name was given."""
        return next(given for called, given in reversed(self.calls) if called == name)

    def _asked(self, name: str, **given: Any) -> None:
        self.calls.append((name, given))
        if self.trouble is not None:
            raise self.trouble

    def _found(self, task_id: int) -> Task:
        if task_id not in self.active:
            raise NoSuchTask(task_id)
        return self.active[task_id]

    def add(self, task_class: str = "ExampleWorker", data: str = "{}", **more: Any) -> Task:
        task_id = next(self._ids)
        task = Task(
            id=task_id,
            task_class=task_class,
            data=data,
            data_id=task_id,
            date_created=NOW,
            date_modified=NOW,
            **more,
        )
        self.active[task_id] = task
        self._changed.set()
        return task

    def owner(self, task_id: int) -> str | None:
        return self.active[task_id].lease_owner

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        self._asked("enqueue", tasks=tasks)
        for task in tasks:
            check_new_task(task)
        return [
            self.add(
                task.task_class,
                task.data,
                priority=2000 if task.priority is None else task.priority,
                object_phid=task.object_phid,
                container_phid=task.container_phid,
            )
            for task in tasks
        ]

    async def lease(self, *, owner: str, limit: int, classes: ClassFilter = ANY, wait: float = 0.0) -> list[Task]:
        self._asked("lease", owner=owner, limit=limit, classes=classes, wait=wait)
        self.waiting += 1
        try:
            async with asyncio.timeout(wait or None):
                while not (free := [task for task in self.active.values() if task.lease_owner is None]) and wait:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return []
        finally:
            self.waiting -= 1
        leased = [msgspec.structs.replace(task, lease_owner=owner, lease_expires=NOW + 7200) for task in free[:limit]]
        self.active |= {task.id: task for task in leased}
        return leased

    def give_back(self, tasks: Sequence[Task]) -> None:
        self._asked("give_back", tasks=tasks)
        for task in tasks:
            self.active[task.id] = msgspec.structs.replace(task, lease_owner=None, lease_expires=None)
            self.given_back.append(task.id)
        self._changed.set()

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        self._asked("enqueue_event", event_id=event_id, task=task)
        check_event_id(event_id)
        return (await self.enqueue([task]))[0]

    async def supports_events(self) -> bool:
        self._asked("supports_events")
        return True

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        self._asked("renew", leases=leases, duration=duration)
        return [Renewed(self.active.get(lease.task.id), "gone") for lease in leases]

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        self._asked("report", reports=reports)
        return [self.receipt for _ in reports]

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        self._asked("complete", task_id=task_id, duration=duration)
        return self._archive(task_id, ArchiveResult.SUCCESS, duration)

    async def cancel(self, task_id: int) -> ArchivedTask:
        self._asked("cancel", task_id=task_id)
        return self._archive(task_id, ArchiveResult.CANCELLED, 0)

    def _archive(self, task_id: int, result: ArchiveResult, duration: int) -> ArchivedTask:
        task = self._found(task_id)
        del self.active[task_id]
        return ArchivedTask(task=task, result=result, duration=duration, archived_epoch=NOW)

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        self._asked("fail", task_id=task_id, permanent=permanent, retry_wait=retry_wait)
        self._found(task_id)

    async def yield_task(self, task_id: int, seconds: int) -> None:
        self._asked("yield_task", task_id=task_id, seconds=seconds)
        self._found(task_id)

    async def awaken(self, task_ids: Sequence[int]) -> int:
        self._asked("awaken", task_ids=task_ids)
        return len(task_ids)

    async def stats(self) -> StoreStats:
        self._asked("stats")
        return StoreStats(active=len(self.active), leased=2, archived=3, failed=4)

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        self._asked("active_tasks", limit=limit, offset=offset, owner=owner)
        return list(self.active.values())[offset : offset + limit]

    async def task(self, task_id: int) -> Task:
        self._asked("task", task_id=task_id)
        return self._found(task_id)
