"""What is said under a lease over HTTP, and events: what reaches the service, and what the caller is answered."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs
from support.fake_service import NOW, FakeService
from support.web import queue_server

from gorge_worker.errors import GorgeWorkerError
from gorge_worker.model import NewTask, Outcome
from gorge_worker.queues.protocol import Receipt, ReportResult
from gorge_worker.queues.store import EventConflict, NotSupported, StoreError

LEASE: dict[str, Any] = {"taskID": 7, "leaseOwner": "me", "leaseExpires": NOW + 100}
FOLLOWUPS = (
    NewTask(task_class="A", data="1"),
    NewTask(task_class="B", priority=1, object_phid="PHID-X", delay_until=9),
)
CALLS: dict[str, tuple[str, dict[str, Any], Outcome, int]] = {
    "finalize": ("finalize", {"duration": 99}, Outcome.success(), 99),
    "finalize without a duration": ("finalize", {"duration": None, "followups": None}, Outcome.success(), 0),
    "finalize with follow-ups": (
        "finalize",
        {
            "followups": [
                {"taskClass": "A", "data": "1"},
                {"taskClass": "B", "priority": 1, "objectPHID": "PHID-X", "delayUntil": 9},
            ]
        },
        Outcome.success(FOLLOWUPS),
        0,
    ),
    "failure": ("resolve", {"outcome": "failure", "message": "no"}, Outcome.permanent_failure("no"), 0),
    "retry": ("resolve", {"outcome": "retry", "retryWait": 5}, Outcome.temporary_failure("", 5), 0),
    "retry without a wait": ("resolve", {"outcome": "retry"}, Outcome.temporary_failure(""), 0),
    "yield": ("resolve", {"outcome": "yield", "duration": 60}, Outcome.yielded(60), 0),
    "release": ("resolve", {"outcome": "release"}, Outcome.released(""), 0),
    "release for a while": ("resolve", {"outcome": "release", "duration": 60}, Outcome.released("", 60), 0),
}


@pytest.mark.parametrize("name", CALLS)
async def test_an_outcome_is_reported_under_its_lease(name: str) -> None:
    route, fields, outcome, duration = CALLS[name]
    service = FakeService()
    async with queue_server(service) as server:
        assert (await server.post(route, LEASE | fields)).data() == {"status": "ok"}
    [report] = service.arguments("report")["reports"]
    assert (report.lease.task.id, report.lease.owner, report.lease.expires) == (7, "me", NOW + 100)
    assert (report.outcome, report.duration) == (outcome, duration)


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (ReportResult(Receipt.LEASE_LOST, "the lease is now somebody's"), (409, "ERR_LEASE_CONFLICT")),
        (ReportResult(Receipt.REFUSED, "follow-up: taskClass is empty"), (400, "ERR_BAD_REQUEST")),
        (ReportResult(Receipt.TROUBLE, "disk full at /secret"), (500, "ERR_INTERNAL")),
    ],
)
@pytest.mark.parametrize(("route", "fields"), [("finalize", {}), ("resolve", {"outcome": "retry"})])
async def test_what_becomes_of_a_report_is_a_status(
    route: str, fields: dict[str, Any], result: ReportResult, error: tuple[int, str]
) -> None:
    service = FakeService()
    service.receipt = result
    async with queue_server(service) as server:
        answer = await server.post(route, LEASE | fields)
        assert answer.error() == error
        assert "secret" not in answer.message()


@pytest.mark.parametrize("outcome", ["failure", "retry"])
async def test_a_failures_message_is_kept_in_the_log(outcome: str) -> None:
    with capture_logs() as logs:
        async with queue_server(FakeService()) as server:
            await server.post("resolve", LEASE | {"outcome": outcome, "message": "m" * 900})
    [line] = [line for line in logs if line["event"] == "a failure was reported"]
    assert (line["task"], line["permanent"], line["reason"]) == (7, outcome == "failure", "m" * 500)


async def test_a_renewal_answers_with_the_task_as_it_stands() -> None:
    service = FakeService()
    service.add(data="x")
    async with queue_server(service) as server:
        await server.post("lease", {}, headers={"X-Lease-Owner": "me"})
        data = (await server.post("renew", LEASE | {"taskID": 1, "duration": 60})).data()
        assert (data["id"], data["leaseOwner"], data["leaseExpires"]) == (1, "me", NOW + 7200)
        assert "data" not in data
        assert service.arguments("renew")["duration"] == 60
        assert (await server.post("renew", LEASE | {"duration": 60})).error() == (409, "ERR_LEASE_CONFLICT")


BAD_LEASES: list[dict[str, Any]] = [
    {"taskID": 0},
    {"taskID": -1},
    {"taskID": "7"},
    {"taskID": None},
    {"leaseOwner": ""},
    {"leaseOwner": None},
    {"leaseOwner": 5},
    {"leaseExpires": None},
    {"leaseExpires": "soon"},
    {"leaseExpires": 1.5},
]
BAD_FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("finalize", {"duration": -1}),
    ("finalize", {"duration": 2**63}),
    ("finalize", {"duration": "long"}),
    ("finalize", {"followups": "x"}),
    ("finalize", {"followups": [5]}),
    ("finalize", {"followups": [{"data": "no class"}]}),
    ("finalize", {"followups": [{"taskClass": "A"}] * 1001}),
    ("resolve", {"outcome": "bananas"}),
    ("resolve", {"outcome": None}),
    ("resolve", {"outcome": "success"}),
    ("resolve", {"outcome": "retry", "retryWait": -1}),
    ("renew", {"duration": 0}),
    ("renew", {"duration": 604_801}),
    ("renew", {"duration": None}),
    ("renew", {"duration": "60"}),
]
GOOD: dict[str, dict[str, Any]] = {"finalize": {}, "resolve": {"outcome": "retry"}, "renew": {"duration": 60}}


@pytest.mark.parametrize("route", GOOD)
@pytest.mark.parametrize("bad", BAD_LEASES, ids=str)
async def test_what_can_be_no_lease_is_a_bad_request(route: str, bad: dict[str, Any]) -> None:
    service = FakeService()
    async with queue_server(service) as server:
        assert (await server.post(route, LEASE | GOOD[route] | bad)).error() == (400, "ERR_BAD_REQUEST")
    assert service.calls == []


@pytest.mark.parametrize(("route", "bad"), BAD_FIELDS, ids=lambda value: str(value)[:40])
async def test_what_can_be_no_outcome_is_a_bad_request(route: str, bad: dict[str, Any]) -> None:
    service = FakeService()
    async with queue_server(service) as server:
        assert (await server.post(route, LEASE | GOOD[route] | bad)).error() == (400, "ERR_BAD_REQUEST")
    assert service.calls == []


@pytest.mark.parametrize("fields", [{"leaseOwner": "o" * 10_000}, {"leaseExpires": 2**70}, {"taskID": 2**70}], ids=str)
async def test_a_lease_that_no_store_can_have_given_is_a_conflict(fields: dict[str, Any]) -> None:
    service = FakeService()
    service.receipt = ReportResult(Receipt.LEASE_LOST, "no such task")
    async with queue_server(service) as server:
        assert (await server.post("finalize", LEASE | fields)).error() == (409, "ERR_LEASE_CONFLICT")


async def test_an_event_is_answered_with_its_task() -> None:
    service = FakeService()
    body = {"eventID": "e", "task": {"taskClass": "A", "data": "1", "priority": 7}}
    async with queue_server(service) as server:
        assert (await server.post("enqueue-event", body)).data()["priority"] == 7
    asked = service.arguments("enqueue_event")
    assert asked == {"event_id": "e", "task": NewTask(task_class="A", data="1", priority=7)}


@pytest.mark.parametrize(
    ("error", "answered"),
    [
        (EventConflict("e"), (409, "ERR_EVENT_CONFLICT")),
        (NotSupported("events need a table of their own"), (501, "ERR_NOT_SUPPORTED")),
        (StoreError("disk full"), (500, "ERR_INTERNAL")),
    ],
)
async def test_an_event_that_can_not_be_added_is_answered_by_its_reason(
    error: GorgeWorkerError, answered: tuple[int, str]
) -> None:
    service = FakeService()
    service.trouble = error
    async with queue_server(service) as server:
        got = await server.post("enqueue-event", {"eventID": "e", "task": {"taskClass": "A"}})
        assert got.error() == answered


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"eventID": "e"},
        {"task": {"taskClass": "A"}},
        {"eventID": 5, "task": {"taskClass": "A"}},
        {"eventID": "", "task": {"taskClass": "A"}},
        {"eventID": "e" * 256, "task": {"taskClass": "A"}},
        {"eventID": "e", "task": {}},
        {"eventID": "e", "task": {"taskClass": ""}},
        {"eventID": "e", "task": "A"},
    ],
    ids=lambda body: str(body)[:50],
)
async def test_what_can_be_no_event_is_a_bad_request(body: dict[str, Any]) -> None:
    service = FakeService()
    async with queue_server(service) as server:
        assert (await server.post("enqueue-event", body)).error() == (400, "ERR_BAD_REQUEST")
    assert service.active == {}


async def test_meta_says_when_there_is_no_place_for_events() -> None:
    class OnPhorgesTables(FakeService):
        async def supports_events(self) -> bool:
            return False

    async with queue_server(OnPhorgesTables()) as server:
        assert (await server.get("/api/queue/meta")).data()["enqueueEvent"] is False


async def test_the_new_routes_want_the_token_too() -> None:
    service = FakeService()
    async with queue_server(service, "t") as server:
        for route in ("finalize", "resolve", "renew", "enqueue-event"):
            assert (await server.post(route, LEASE)).error() == (401, "ERR_UNAUTHORIZED")
    assert service.calls == []
