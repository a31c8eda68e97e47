"""A store as its clients see it: every call goes over HTTP to a queue server on a real one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from gorge_worker.clock import Clock
from gorge_worker.config.values import ListenAddress
from gorge_worker.model import ArchivedTask, ArchiveResult, Lease, NewTask, Outcome, Task, Verdict
from gorge_worker.queues.protocol import ClassFilter, Receipt, Report, ReportResult
from gorge_worker.queues.service import QueueService
from gorge_worker.queues.store import (
    BadTask,
    EventConflict,
    NoSuchTask,
    Renewed,
    StoreError,
    StoreLease,
    StoreStats,
    TaskStore,
)
from gorge_worker.web.guard import Guard
from gorge_worker.web.queue_api import queue_app
from gorge_worker.web.serving import serve

OUTCOMES = {
    Verdict.PERMANENT_FAILURE: "failure",
    Verdict.TEMPORARY_FAILURE: "retry",
    Verdict.YIELD: "yield",
    Verdict.RELEASE: "release",
}


BY_ID = ("complete", "fail", "yield", "cancel")


class HttpStore:
    """TaskStore over HTTP. What has no route (`next_due`, `release`, enqueuing several), and names that can't be sent,
    go straight to the store behind the server.
    """

    shared = False

    def __init__(self, store: TaskStore, service: QueueService, stack: AsyncExitStack, base: str) -> None:
        self.store = store
        self._service = service
        self._stack = stack
        self._base = base
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    async def open(cls, store: TaskStore, clock: Clock) -> HttpStore:
        stack = AsyncExitStack()
        service = QueueService(store, lease_duration=7200, clock=clock, rng=random.Random(1))
        stack.push_async_callback(service.close)
        guard = Guard(ListenAddress("127.0.0.1", 0), "")
        address = await stack.enter_async_context(serve(queue_app(service, guard, random.Random(1)), guard))
        opened = cls(store, service, stack, f"http://127.0.0.1:{address.port}/api/queue/")
        opened._session = await stack.enter_async_context(aiohttp.ClientSession())
        return opened

    async def close(self) -> None:
        await self._stack.aclose()

    async def _call(self, method: str, route: str, body: object = None, owner: str | None = None) -> tuple[int, Any]:
        assert self._session is not None
        if self._session.closed:
            raise StoreError("closed")
        headers = {"Content-Type": "application/json"} | ({} if owner is None else {"X-Lease-Owner": owner})
        data = None if body is None else msgspec.json.encode(body)
        async with self._session.request(method, self._base + route, data=data, headers=headers) as answer:
            content = msgspec.json.decode(await answer.read())
        if answer.status == 200:
            return 200, content["data"]
        error = content["error"]
        task_id = body.get("taskID", 0) if isinstance(body, dict) else route.rpartition("/")[2]
        # An id that no task can have is a bad request over HTTP.
        if answer.status == 404 or (answer.status == 400 and route in BY_ID and int(task_id) <= 0):
            raise NoSuchTask(int(task_id))
        if error["code"] == "ERR_EVENT_CONFLICT":
            raise EventConflict(str(body))
        if answer.status >= 500:
            raise StoreError(error["message"])
        return answer.status, error["message"]

    async def _post(self, route: str, body: object, owner: str | None = None) -> Any:
        status, data = await self._call("POST", route, body, owner)
        if status == 400:
            raise BadTask(data)
        return data

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        if len(tasks) != 1:  # all or none
            return await self.store.enqueue(tasks)
        return [_task(await self._post("enqueue", _body(tasks[0])))]

    async def enqueue_event(self, event_id: str, task: NewTask) -> Task:
        return _task(await self._post("enqueue-event", {"eventID": _text(event_id), "task": _body(task)}))

    async def supports_events(self) -> bool:
        _, meta = await self._call("GET", "meta")
        return bool(meta["enqueueEvent"])

    async def lease(self, wanted: StoreLease) -> list[Task]:
        if not _can_be_sent(wanted):
            return await self.store.lease(wanted)
        self._service.lease_duration = wanted.duration
        body = {
            "limit": wanted.limit,
            "taskClasses": list(wanted.classes.only),
            "excludeTaskClasses": list(wanted.classes.without),
        }
        return [_task(one) for one in await self._post("lease", body, wanted.owner)]

    async def next_due(self, classes: ClassFilter) -> int | None:
        return await self.store.next_due(classes)

    async def renew(self, leases: Sequence[Lease], duration: int) -> list[Renewed]:
        return [await self._renew(lease, duration) for lease in leases]

    async def _renew(self, lease: Lease, duration: int) -> Renewed:
        status, data = await self._call("POST", "renew", {**_lease(lease), "duration": duration})
        return Renewed(_task(data)) if status == 200 else Renewed(None, data)

    async def report(self, reports: Sequence[Report]) -> list[ReportResult]:
        return [await self._report(report) for report in reports]

    async def _report(self, report: Report) -> ReportResult:
        outcome = report.outcome
        if outcome.verdict is Verdict.SUCCESS:
            followups = [_body(task) for task in outcome.followups]
            body = {**_lease(report.lease), "duration": report.duration, "followups": followups}
            status, data = await self._call("POST", "finalize", body)
        else:
            body = {**_lease(report.lease), "outcome": OUTCOMES[outcome.verdict], **_wait(outcome)}
            status, data = await self._call("POST", "resolve", body)
        receipts = {200: Receipt.ACCEPTED, 409: Receipt.LEASE_LOST, 400: Receipt.REFUSED}
        return ReportResult(receipts[status], "" if status == 200 else data)

    async def complete(self, task_id: int, duration: int) -> ArchivedTask:
        return _archived(await self._post("complete", {"taskID": task_id, "duration": duration}))

    async def fail(self, task_id: int, *, permanent: bool, retry_wait: int | None = None) -> None:
        await self._post("fail", {"taskID": task_id, "permanent": permanent, "retryWait": retry_wait})

    async def yield_task(self, task_id: int, seconds: int) -> None:
        await self._post("yield", {"taskID": task_id, "duration": seconds})

    async def release(self, tasks: Sequence[Task]) -> None:
        await self.store.release(tasks)

    async def cancel(self, task_id: int) -> ArchivedTask:
        return _archived(await self._post("cancel", {"taskID": task_id}))

    async def awaken(self, task_ids: Sequence[int]) -> int:
        return int((await self._post("awaken", {"taskIDs": list(task_ids)}))["awakened"]) if task_ids else 0

    async def stats(self) -> StoreStats:
        _, data = await self._call("GET", "stats")
        return StoreStats(**{name.removesuffix("Count"): count for name, count in data.items()})

    async def active_tasks(self, *, limit: int, offset: int, owner: str | None = None) -> list[Task]:
        if owner is not None or limit < 1 or offset < 0:  # no query can say so
            return await self.store.active_tasks(limit=limit, offset=offset, owner=owner)
        _, data = await self._call("GET", f"tasks?limit={limit}&offset={offset}")
        return [_task(one) for one in data]

    async def task(self, task_id: int) -> Task:
        if task_id <= 0:  # no path can say so
            return await self.store.task(task_id)
        _, data = await self._call("GET", f"tasks/{task_id}")
        return _task(data)


async def open_over_http(behind: Any, folder: Path, clock: Clock) -> TaskStore:
    return await HttpStore.open(await behind(folder, clock), clock)


def _lease(lease: Lease) -> dict[str, object]:
    return {"taskID": lease.task.id, "leaseOwner": lease.owner, "leaseExpires": lease.expires}


def _wait(outcome: Outcome) -> dict[str, int]:
    if outcome.wait is None:
        return {}
    return {"retryWait" if outcome.verdict is Verdict.TEMPORARY_FAILURE else "duration": outcome.wait}


def _body(task: NewTask) -> Any:
    """A lone surrogate can't be sent: it comes as the text that JSON has for it."""
    fields = {field.encode_name: getattr(task, field.name) for field in msgspec.structs.fields(task)}
    return {name: _text(value) if isinstance(value, str) else value for name, value in fields.items()}


def _can_be_sent(wanted: StoreLease) -> bool:
    owner, classes = wanted.owner, wanted.classes
    named = all("\ud800" not in name for name in (*classes.only, *classes.without))
    return named and owner != "" and owner.isascii() and owner.isprintable()


def _text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return msgspec.Raw(b'"' + "".join(f"\\u{ord(letter):04x}" for letter in text).encode() + b'"')
    return text


def _task(data: Any) -> Task:
    return msgspec.convert(data, Task)


def _archived(data: Any) -> ArchivedTask:
    task = _task({name: value for name, value in data.items() if name not in ("result", "duration", "archivedEpoch")})
    return ArchivedTask(
        task=task, result=ArchiveResult(data["result"]), duration=data["duration"], archived_epoch=data["archivedEpoch"]
    )
