"""Lease calls through the adapter, on answers as they are told."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from support.scripted_http import OK, PAGE, Call, ScriptedHttp, answer, data, error
from support.virtual_time import VirtualClock
from support.waiting import until

from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import AnswerTooLarge, HttpAnswer, NoAnswer, NotSent
from gorge_worker.model import Outcome
from gorge_worker.queues.gorge import GorgeQueue, adapter
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import ClassFilter, Features, Leased, LeaseRequest, Receipt, Report

META = data({"executionVersion": 0, "longPoll": True})
OLD_META = data({"executionVersion": 1})
GO_META = data({"executionVersion": 1, "leaseOutcomes": True})
OUR_META = data({"executionVersion": 1, "leaseOutcomes": True, "release": True, "excludeTaskClasses": True})
TASK = {"id": 1, "taskClass": "Some", "data": "{}"}
TOO_LARGE = AnswerTooLarge("an answer of more than 67108864 bytes")


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What settles in time is the recovery's own test."""
    monkeypatch.setattr(adapter, "SETTLING", 0.0)


def make(meta: HttpAnswer | None = None) -> tuple[ScriptedHttp, GorgeQueue]:
    http, clock, rng = ScriptedHttp(), VirtualClock(), random.Random(1)
    if meta:
        http.always["meta"] = meta
    http.always |= {"lease": data([]), "tasks": data([]), "yield": OK, "fail": OK}
    return http, GorgeQueue(http, OwnerNames(clock, rng), clock, rng)


async def lease(queue: GorgeQueue, limit: int = 4, **more: Any) -> Leased:
    return await queue.lease(LeaseRequest(limit=limit, **more))


def owners(http: ScriptedHttp) -> list[str]:
    return [call.headers["X-Lease-Owner"] for call in http.at("lease")]


async def test_a_plain_queue_is_asked_for_a_limit_and_nothing_else() -> None:
    http, queue = make()
    await lease(queue, classes=ClassFilter(("Some",)), wait=25.0)
    [call] = http.at("lease")
    assert call.body == {"limit": 4}
    assert call.headers["Content-Type"] == "application/json"
    assert queue.features == Features()
    await queue.close()


async def test_a_queue_with_meta_gets_classes_and_a_wait() -> None:
    http, queue = make(META)
    await lease(queue, classes=ClassFilter(("Some", "Other")), wait=25.9)
    [call] = http.at("lease")
    assert call.body == {"limit": 4, "taskClasses": ["Some", "Other"], "wait": 25}
    assert call.timeout == 35
    assert queue.features == Features(class_filter=True, long_poll=25.0)
    await queue.close()


async def test_an_empty_filter_is_never_sent_nor_a_wait_that_is_not_offered() -> None:
    http, queue = make(OLD_META)
    await lease(queue, wait=25.0)
    assert http.bodies("lease") == [{"limit": 4}]
    await queue.close()


@pytest.mark.parametrize(
    ("meta", "body"), [(OUR_META, {"limit": 4, "excludeTaskClasses": ["Paused"]}), (GO_META, {"limit": 4})]
)
async def test_classes_are_excluded_where_the_queue_can(meta: HttpAnswer, body: dict[str, Any]) -> None:
    http, queue = make(meta)
    await lease(queue, classes=ClassFilter(without=("Paused",)))
    assert http.bodies("lease") == [body]
    await queue.close()


async def test_a_lease_is_spoken_of_in_the_words_of_its_generation() -> None:
    """Whatever the queue speaks by the time of the report."""
    http, queue = make(GO_META)
    http.always |= {"lease": data([TASK | {"leaseExpires": 7500}]), "finalize": OK, "complete": OK}
    [first] = (await lease(queue)).leases
    http.always |= {"meta": error(404), "lease": data([TASK | {"id": 2}])}
    queue._meta.forget()
    [second] = (await lease(queue)).leases
    assert not queue.features.renews
    reports = [Report(lease=one, outcome=Outcome.success(), duration=1) for one in (first, second)]
    assert [one.receipt for one in await queue.report(reports)] == [Receipt.ACCEPTED] * 2
    assert [body["leaseOwner"] for body in http.bodies("finalize")] == [first.owner]
    assert [body["taskID"] for body in http.bodies("complete")] == [2]
    await queue.close()


@pytest.mark.parametrize("meta", [GO_META, OUR_META])
async def test_what_is_handed_out_too_early_goes_back_for_a_while_under_its_own_lease(meta: HttpAnswer) -> None:
    """Released, it would be handed out again at once, and again, until the report has got through."""
    http, queue = make(meta)
    http.always |= {"lease": data([TASK | {"leaseExpires": int(VirtualClock().wall()) + 7200}]), "resolve": OK}
    http.script("resolve", NoAnswer("cut"))
    first = await lease(queue)
    await report(queue, first, Outcome.temporary_failure("busy", wait=0))
    assert await lease(queue) == Leased()
    await until(lambda: len(http.at("resolve")) == 2)
    given_back = http.bodies("resolve")[1]
    assert (given_back["leaseOwner"], given_back["outcome"], given_back["duration"]) == (owners(http)[1], "yield", 5)
    assert http.at("yield") == []
    await queue.close()


async def test_nothing_is_leased_before_meta_is_known() -> None:
    http, queue = make(error(500))
    with pytest.raises(QueueTrouble):
        await lease(queue)
    assert http.at("lease") == []
    await queue.close()


async def test_with_meta_every_call_has_a_fresh_owner() -> None:
    http, queue = make(META)
    for _ in range(3):
        await lease(queue)
    assert len(set(owners(http))) == 3
    await queue.close()


async def test_a_lease_is_what_the_queue_says_less_two_seconds() -> None:
    http, queue = make()
    http.always["lease"] = data([TASK | {"leaseExpires": 7500}], Date="Thu, 01 Jan 1970 02:00:00 GMT")
    before = VirtualClock().boottime()
    [leased] = (await lease(queue)).leases
    assert (leased.expires, leased.owner) == (7500, owners(http)[0])
    assert before + 298 <= leased.ends_at <= VirtualClock().boottime() + 298
    await queue.close()


async def test_a_broken_task_comes_with_a_lease_of_its_own() -> None:
    http, queue = make()
    http.always["lease"] = data([TASK, TASK | {"id": 2, "data": 5}, {"taskClass": "nameless"}])
    leased = await lease(queue)
    assert [one.task.id for one in leased.leases] == [1]
    [broken] = leased.unusable
    assert (broken.lease.task.id, broken.lease.task.task_class) == (2, "Some")
    assert broken.lease.ends_at == leased.leases[0].ends_at
    await queue.close()


SILENT = {
    "reset": NoAnswer("the connection broke"),
    "html-200": answer(200, "<html>"),
    "cut-json": answer(200, '{"data":[{"id":1,'),
    "not-a-list": data({"id": 1}),
    "500": error(500),
    "html-503": PAGE,
}


@pytest.mark.parametrize("bad", SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("meta", [None, OLD_META], ids=["plain", "meta"])
async def test_what_an_unread_answer_may_have_leased_is_given_back(
    bad: HttpAnswer | Exception, meta: HttpAnswer | None
) -> None:
    http, queue = make(meta)
    http.script("lease", bad)
    with pytest.raises(QueueTrouble):
        await lease(queue)
    await lease(queue)
    lost, fresh = owners(http)
    assert lost != fresh, "the name is not used again"
    assert len(http.at("meta")) == 2, "another queue may have come up"
    expires = int(VirtualClock().wall()) + 7200
    rows = [{"id": number, "leaseOwner": owner, "leaseExpires": expires} for number, owner in enumerate([lost, fresh])]
    http.always["tasks"] = data(rows)
    await queue.give_back()
    assert http.bodies("yield") == [{"taskID": 0, "duration": 5}]
    await queue.close()


@pytest.mark.parametrize(
    ("meta", "said"), [(GO_META, {"outcome": "yield", "duration": 5}), (OUR_META, {"outcome": "release"})]
)
async def test_what_a_lost_answer_has_leased_goes_back_under_its_lease(meta: HttpAnswer, said: dict[str, Any]) -> None:
    http, queue = make(meta)
    http.always["resolve"] = OK
    http.script("lease", NoAnswer("cut"))
    with pytest.raises(QueueTrouble):
        await lease(queue)
    [owner] = owners(http)
    expires = int(VirtualClock().wall()) + 7200
    http.always["tasks"] = data([{"id": 9, "leaseOwner": owner, "leaseExpires": expires}])
    await queue.give_back()
    assert http.bodies("resolve") == [{"taskID": 9, "leaseOwner": owner, "leaseExpires": expires, **said}]
    await queue.close()


@pytest.mark.parametrize("bad", [NotSent("refused"), error(401), error(400), answer(404, "<html>")])
@pytest.mark.parametrize("meta", [None, OLD_META], ids=["plain", "meta"])
async def test_a_call_that_certainly_leased_nothing_leaves_nothing_to_look_for(
    bad: HttpAnswer | Exception, meta: HttpAnswer | None
) -> None:
    http, queue = make(meta)
    http.script("lease", bad)
    with pytest.raises(QueueTrouble):
        await lease(queue)
    await queue.give_back()
    assert http.at("tasks") == []
    await queue.close()


@pytest.mark.parametrize("meta", [None, META], ids=["plain", "meta"])
async def test_what_a_cancelled_call_may_have_leased_is_given_back(meta: HttpAnswer | None) -> None:
    http, queue = make(meta)

    async def hang(_: Call) -> HttpAnswer:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    http.always["lease"] = hang
    call = asyncio.create_task(lease(queue, wait=25.0))
    await until(lambda: http.at("lease"))
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()
    expires = int(VirtualClock().wall()) + 7200
    http.always["tasks"] = data([{"id": 9, "leaseOwner": owners(http)[0], "leaseExpires": expires}])
    await queue.give_back()
    assert http.bodies("yield") == [{"taskID": 9, "duration": 5}]
    await queue.close()


async def test_after_an_answer_too_large_one_task_is_asked_for_until_that_succeeds() -> None:
    http, queue = make()
    http.script("lease", TOO_LARGE, error(401), data([TASK]))
    for _ in range(2):
        with pytest.raises(QueueTrouble):
            await lease(queue)
    assert (await lease(queue)).leases
    await lease(queue)
    assert [body["limit"] for body in http.bodies("lease")] == [4, 1, 1, 4]
    assert len(set(owners(http)[:3])) == 1, "the same lane shows the rest"
    await queue.close()


@pytest.mark.parametrize("meta", [None, OLD_META], ids=["plain", "meta"])
async def test_a_single_task_too_large_to_read_is_put_aside_for_a_while(meta: HttpAnswer | None) -> None:
    http, queue = make(meta)
    http.script("lease", TOO_LARGE, TOO_LARGE)
    for _ in range(2):
        with pytest.raises(QueueTrouble):
            await lease(queue)
    giant = owners(http)[1]
    expires = int(VirtualClock().wall()) + 7200
    http.always["tasks"] = data([{"id": 9, "leaseOwner": giant, "leaseExpires": expires}])
    await queue.give_back()
    [body] = http.bodies("yield")
    assert body["taskID"] == 9
    assert body["duration"] in (59, 60)
    await lease(queue)
    assert owners(http)[2] != giant
    await queue.close()


async def report(queue: GorgeQueue, leased: Leased, outcome: Outcome) -> None:
    await queue.report([Report(lease=one, outcome=outcome, duration=1) for one in leased.leases])


async def test_a_failed_task_that_comes_straight_back_is_yielded_for_the_rest() -> None:
    http, queue = make()
    http.always["lease"] = data([TASK])
    await report(queue, await lease(queue), Outcome.temporary_failure("busy", wait=60))
    assert await lease(queue) == Leased()
    await until(lambda: http.at("yield"))
    [body] = http.bodies("yield")
    assert body["taskID"] == 1
    assert body["duration"] in (59, 60)
    await queue.close()


async def test_a_queue_with_meta_keeps_the_waits_itself() -> None:
    http, queue = make(OLD_META)
    http.always["lease"] = data([TASK])
    await report(queue, await lease(queue), Outcome.temporary_failure("busy", wait=60))
    assert len((await lease(queue)).leases) == 1
    await queue.close()


async def test_a_broken_task_is_kept_away_like_any_other() -> None:
    http, queue = make()
    http.always["lease"] = data([TASK | {"data": 5}])
    [broken] = (await lease(queue)).unusable
    await queue.report([Report(lease=broken.lease, outcome=Outcome.temporary_failure("?"), duration=1)])
    assert await lease(queue) == Leased()
    await queue.close()


@pytest.mark.parametrize("meta", [None, OLD_META], ids=["plain", "meta"])
@pytest.mark.parametrize("outcome", [Outcome.temporary_failure("busy", wait=0), Outcome.success()])
async def test_a_task_handed_out_again_while_its_report_is_under_way_goes_back(
    meta: HttpAnswer | None, outcome: Outcome
) -> None:
    http, queue = make(meta)
    http.always |= {"lease": data([TASK]), "fail": NoAnswer("cut"), "complete": NoAnswer("cut")}
    await report(queue, await lease(queue), outcome)
    assert await lease(queue) == Leased()
    await until(lambda: http.at("yield"))
    assert http.bodies("yield") == [{"taskID": 1, "duration": 5}]
    await queue.close()


async def test_connections_rest_only_when_none_is_in_use() -> None:
    http, queue = make()
    await queue.rest()
    assert http.rests == 1
    gate = asyncio.Event()

    async def wait(_: Call) -> HttpAnswer:
        await gate.wait()
        return data([])

    http.always["lease"] = wait
    call = asyncio.create_task(lease(queue))
    await until(lambda: http.at("lease"))
    await queue.rest()
    assert http.rests == 1
    gate.set()
    await call
    await queue.close()
