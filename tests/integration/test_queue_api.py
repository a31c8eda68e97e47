"""The queue's HTTP face over real sockets, before a queue in memory: shapes, statuses and errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from support.fake_service import NOW, FakeService
from support.web import Server, queue_server

from gorge_worker.queues.protocol import ANY, ClassFilter
from gorge_worker.queues.store import StoreError

TASK = {
    "id": 1,
    "taskClass": "ExampleWorker",
    "failureCount": 0,
    "dataID": 1,
    "priority": 2000,
    "dateCreated": NOW,
    "dateModified": NOW,
}
LEASED = {"leaseOwner": "o", "leaseExpires": NOW + 7200}


async def lease(server: Server, body: Any = None, **headers: str) -> list[dict[str, Any]]:
    answer = await server.post("lease", body or {}, headers={"X-Lease-Owner": "o"} | headers)
    data = answer.data()
    assert isinstance(data, list)
    return data


async def test_everything_but_health_needs_the_token() -> None:
    async with queue_server(FakeService(), "q-token") as server:
        assert (await server.get("/")).json() == (await server.get("/healthz")).json() == {"status": "ok"}
        for path in ("/api/queue/stats", "/api/queue/meta", "/nothing", "/api/queue/tasks/1"):
            assert (await server.get(path)).error() == (401, "ERR_UNAUTHORIZED")
        assert (await server.post("enqueue", {"taskClass": "A"})).error() == (401, "ERR_UNAUTHORIZED")
        assert (await server.get("/api/queue/stats", headers={"X-Service-Token": "q-token"})).status == 200
        assert (await server.post("enqueue?token=q-token", {"taskClass": "A"})).status == 200


async def test_with_a_token_the_content_type_does_not_matter() -> None:
    async with queue_server(FakeService(), "t") as server:
        answer = await server.call("POST", "/api/queue/lease?token=t", data=b'{"limit":1}')
        assert answer.data() == []


async def test_without_a_token_no_form_can_enqueue() -> None:
    service = FakeService()
    async with queue_server(service) as server:
        body = {"taskClass": "A"}
        plain = await server.post("enqueue", body, headers={"Content-Type": "text/plain"})
        assert plain.error() == (415, "ERR_UNSUPPORTED_MEDIA_TYPE")
        foreign = await server.post("enqueue", body, headers={"Origin": "http://evil.example"})
        rebound = await server.post("enqueue", body, headers={"Host": "evil.example"})
        assert foreign.error() == rebound.error() == (403, "ERR_FORBIDDEN")
    assert service.active == {}


async def test_enqueue_answers_with_the_task_without_data() -> None:
    async with queue_server(FakeService()) as server:
        answer = await server.post("enqueue", {"taskClass": "ExampleWorker", "data": "5"})
        assert answer.data() == TASK
        full = {"taskClass": "B", "priority": 0, "objectPHID": "PHID-A", "containerPHID": "PHID-B"}
        assert (await server.post("enqueue", full)).data().items() >= full.items()


async def test_lease_hands_out_tasks_with_data_and_owner() -> None:
    service = FakeService()
    async with queue_server(service) as server:
        assert await lease(server) == []
        service.add(data='{"a":1}')
        service.add(data="")
        assert await lease(server, {"limit": 9, "taskClasses": ["ExampleWorker"]}) == [
            TASK | LEASED | {"data": '{"a":1}'},
            TASK | LEASED | {"id": 2, "dataID": 2, "data": ""},
        ]
    assert service.arguments("lease") == {
        "owner": "o",
        "limit": 9,
        "classes": ClassFilter(("ExampleWorker",)),
        "wait": 0.0,
    }


@pytest.mark.parametrize("body", [b"", b"{}", b'{"limit":null,"taskClasses":null,"wait":null,"unknown":{"x":[]}}'])
async def test_a_lease_body_may_say_nothing(body: bytes) -> None:
    service = FakeService()
    async with queue_server(service) as server:
        assert (await server.post("lease", body, headers={"X-Lease-Owner": "o"})).data() == []
    assert service.arguments("lease") == {"owner": "o", "limit": 1, "classes": ANY, "wait": 0.0}


async def test_a_lease_without_an_owner_gets_one_from_the_callers_address() -> None:
    service = FakeService()
    async with queue_server(service) as server:
        await server.post("lease", {})
        first = service.arguments("lease")["owner"]
        await server.post("lease", {})
    assert first.startswith("127.0.0.1:")
    assert service.arguments("lease")["owner"] != first


@pytest.mark.parametrize("owner", [b"x" * 65, b"\xff\xfe", b"(yield)"])
async def test_a_bad_owner_is_a_bad_request(owner: bytes) -> None:
    request = b"POST /api/queue/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    async with queue_server(FakeService()) as server:
        answer = await server.raw(request + b"Connection: close\r\nX-Lease-Owner: " + owner + b"\r\n\r\n")
    assert b" 400 " in answer.partition(b"\r\n")[0]
    assert b"ERR_BAD_REQUEST" in answer


async def test_reports_answer_as_the_contract_says() -> None:
    service = FakeService()
    for _ in range(4):
        service.add()
    async with queue_server(service) as server:
        done = await server.post("complete", {"taskID": 1, "duration": 7})
        assert done.data() == TASK | {"result": 0, "duration": 7, "archivedEpoch": NOW}
        cancelled = await server.post("cancel", {"taskID": 2})
        assert cancelled.data() == TASK | {"id": 2, "dataID": 2, "result": 2, "duration": 0, "archivedEpoch": NOW}
        failed = await server.post("fail", {"taskID": 3, "permanent": True, "retryWait": 9, "message": "m"})
        assert failed.data() == {"status": "ok"}
        assert (await server.post("yield", {"taskID": 4, "duration": 60})).data() == {"status": "ok"}
        assert (await server.post("awaken", {"taskIDs": [4, 5]})).data() == {"awakened": 2}
    assert service.arguments("fail") == {"task_id": 3, "permanent": True, "retry_wait": 9}
    assert service.arguments("yield_task") == {"task_id": 4, "seconds": 60}
    assert service.arguments("awaken") == {"task_ids": [4, 5]}


async def test_what_a_report_may_leave_out_has_a_default() -> None:
    service = FakeService()
    service.add(), service.add()
    async with queue_server(service) as server:
        await server.post("fail", {"taskID": 1, "permanent": None, "retryWait": None, "message": None})
        await server.post("yield", {"taskID": 1})
        await server.post("complete", {"taskID": 1})
    assert service.arguments("fail") == {"task_id": 1, "permanent": False, "retry_wait": None}
    assert service.arguments("yield_task") == {"task_id": 1, "seconds": 0}
    assert service.arguments("complete") == {"task_id": 1, "duration": 0}


async def test_a_failures_message_is_kept_in_the_log_and_bounded() -> None:
    service = FakeService()
    service.add()
    with capture_logs() as logs:
        async with queue_server(service) as server:
            await server.post("fail", {"taskID": 1, "message": "no route to host" + "x" * 10_000})
    [line] = [one for one in logs if one["event"] == "a failure was reported"]
    assert line["reason"].startswith("no route to host")
    assert len(line["reason"]) == 500


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("complete", {"taskID": 424242}),
        ("cancel", {"taskID": 424242}),
        ("fail", {"taskID": 424242, "permanent": True}),
        ("yield", {"taskID": 424242, "duration": 5}),
        ("complete", b'{"taskID":1180591620717411303424}'),
        ("yield", b'{"taskID":1180591620717411303424,"duration":1180591620717411303424}'),
    ],
)
async def test_a_report_for_an_unknown_task_is_not_found(route: str, body: Any) -> None:
    async with queue_server(FakeService()) as server:
        assert (await server.post(route, body)).error() == (404, "ERR_NOT_FOUND")


BAD_BODIES: dict[str, list[bytes]] = {
    "enqueue": [
        b"",
        b"{",
        b"[]",
        b"5",
        b"{}",
        b"[" * 100_000,
        b'{"x":' + b"[" * 100_000,
        b'{"taskClass":""}',
        b'{"taskClass":null}',
        b'{"taskClass":5}',
        b'{"taskClass":"\\ud800"}',
        b'{"taskClass":"\xff"}',
        b'{"taskClass":"a\\u0000b"}',
        b'{"taskClass":"' + b"A" * 65 + b'"}',
        b'{"taskClass":"A","data":"\\ud800"}',
        b'{"taskClass":"A","data":{"x":1}}',
        b'{"taskClass":"A","priority":"high"}',
        b'{"taskClass":"A","priority":true}',
        b'{"taskClass":"A","priority":1180591620717411303424}',
        b'{"taskClass":"A","priority":' + b"9" * 10_000 + b"}",
        b'{"taskClass":"A","delayUntil":-1}',
        b'{"taskClass":"A"} x',
    ],
    "lease": [
        b"{",
        b"[]",
        b'{"limit":"four"}',
        b'{"limit":true}',
        b'{"wait":-1}',
        b'{"wait":"1"}',
        b'{"wait":NaN}',
        b'{"taskClasses":"A"}',
        b'{"taskClasses":[1]}',
    ],
    "complete": [
        b"{",
        b"{}",
        b'{"taskID":0}',
        b'{"taskID":"1"}',
        b'{"taskID":1,"duration":"long"}',
        b'{"taskID":1,"duration":-1}',
    ],
    "fail": [b"{", b"{}", b'{"taskID":0}', b'{"taskID":1,"permanent":"yes"}', b'{"taskID":1,"retryWait":-1}'],
    "yield": [b"{", b"{}", b'{"taskID":0}', b'{"taskID":1,"duration":"long"}'],
    "cancel": [b"{", b"{}", b'{"taskID":0}', b'{"taskID":null}'],
    "awaken": [b"{", b"{}", b'{"taskIDs":[]}', b'{"taskIDs":null}', b'{"taskIDs":"1"}', b'{"taskIDs":["a"]}'],
}


@pytest.mark.parametrize("route", BAD_BODIES)
async def test_a_bad_body_is_a_bad_request_and_changes_nothing(route: str) -> None:
    service = FakeService()
    task = service.add()
    async with queue_server(service) as server:
        for body in BAD_BODIES[route]:
            answer = await server.post(route, body)
            assert answer.error() == (400, "ERR_BAD_REQUEST"), body[:50]
    assert service.active == {task.id: task}


async def test_stats_and_meta_have_the_contracts_shape() -> None:
    service = FakeService()
    service.add()
    async with queue_server(service) as server:
        stats = {"activeCount": 1, "leasedCount": 2, "archivedCount": 3, "failedCount": 4}
        assert (await server.get("/api/queue/stats")).data() == stats
        assert (await server.get("/api/queue/meta")).data() == {
            "executionVersion": 1,
            "leaseOutcomes": True,
            "leaseDuration": 7200,
            "longPoll": True,
            "excludeTaskClasses": True,
            "release": True,
            "enqueueEvent": True,
        }


async def test_a_listing_is_without_data_and_paged() -> None:
    service = FakeService()
    for _ in range(3):
        service.add(data="x")
    async with queue_server(service) as server:
        assert (await server.get("/api/queue/tasks")).data()[0] == TASK
        assert service.arguments("active_tasks") == {"limit": 100, "offset": 0, "owner": None}
        assert [one["id"] for one in (await server.get("/api/queue/tasks?limit=1&offset=1")).data()] == [2]
        await server.get("/api/queue/tasks", params={"leaseOwner": "1:2:host:3"})
        assert service.arguments("active_tasks")["owner"] == "1:2:host:3"
        for query in ("limit=x", "offset=-1", f"leaseOwner={'x' * 65}"):
            assert (await server.get(f"/api/queue/tasks?{query}")).error() == (400, "ERR_BAD_REQUEST")


async def test_one_task_is_shown_with_its_data() -> None:
    service = FakeService()
    service.add(data='{"key":7714163963910349351}')
    async with queue_server(service) as server:
        assert (await server.get("/api/queue/tasks/1")).data() == TASK | {"data": '{"key":7714163963910349351}'}
        for unknown in ("2", "1180591620717411303424"):
            assert (await server.get(f"/api/queue/tasks/{unknown}")).error() == (404, "ERR_NOT_FOUND")
        for bad in ("one", "0", "-1", "1.5", "%C2%B2"):
            assert (await server.get(f"/api/queue/tasks/{bad}")).error() == (400, "ERR_BAD_REQUEST")


async def test_unknown_routes_and_methods_answer_in_the_envelope() -> None:
    async with queue_server(FakeService()) as server:
        assert (await server.get("/api/queue/nothing")).error() == (404, "ERR_NOT_FOUND")
        wrong = await server.get("/api/queue/enqueue")
        assert wrong.error() == (405, "ERR_METHOD_NOT_ALLOWED")
        assert wrong.headers["Allow"] == "POST"


async def test_a_stores_trouble_is_for_the_log_and_logged_once_until_it_ends() -> None:
    service = FakeService()
    service.trouble = StoreError("UNIQUE constraint failed: worker_activetask at db.internal")
    with capture_logs() as logs:
        async with queue_server(service) as server:
            for _ in range(3):
                answer = await server.post("enqueue", {"taskClass": "A"})
                assert answer.error() == (500, "ERR_INTERNAL")
                assert b"worker_activetask" not in answer.body
            service.trouble = None
            for _ in range(2):
                assert (await server.post("enqueue", {"taskClass": "A"})).status == 200
    told = [(one["log_level"], one["event"]) for one in logs if "store" in one["event"]]
    assert told == [("error", "the store is in trouble"), ("info", "the store works again")]
    assert "worker_activetask" in repr(logs)


async def test_data_goes_through_byte_for_byte() -> None:
    service = FakeService()
    texts = ["", "5", r'{"a":"\u0000\ud83c\udfde"}', '{ "b":1.0, "b":1e2 }\n', "峡谷 🏞 \u2028\x00", "not json"]
    async with queue_server(service) as server:
        for text in texts:
            (await server.post("enqueue", {"taskClass": "A", "data": text})).data()
        assert [one["data"] for one in await lease(server, {"limit": len(texts)})] == texts
    assert msgspec.json.encode([task.data for task in service.active.values()]) == msgspec.json.encode(texts)
