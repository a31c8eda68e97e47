"""The Conduit backend before each age of `worker.execute`."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.conduit_ages import CONTEXT, SEED, VERSIONED, Conduit, envelope
from support.leases import FixedClock, lease_of
from support.recording_server import Reply, hang, reply, reset
from support.waiting import until

from gorge_worker.backends.conduit import capabilities, preparing
from gorge_worker.backends.conduit.backend import ConduitBackend
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.http_client import HttpClient
from gorge_worker.model import Outcome, Verdict

HOUR = 3600
LEASE = lease_of("AWorker", "5", failure_count=2, priority=1000, object_phid="PHID-OBJ-1")
THREE = {"taskID": 7, "taskClass": "AWorker", "data": "5"}
FULL = {
    **THREE,
    "failureCount": 2,
    "priority": 1000,
    "objectPHID": "PHID-OBJ-1",
    "leaseOwner": LEASE.owner,
    "leaseExpires": LEASE.expires,
}


class Backend(ConduitBackend):
    clock: FixedClock


@contextlib.asynccontextmanager
async def backend(conduit: Conduit, limit: float | None = None) -> AsyncIterator[Backend]:
    http = HttpClient(conduit.url, headers={}, connections=8)
    clock = FixedClock()
    made = Backend(http, token="api-abc", encoding="form", timeout=limit, clock=clock)
    made.clock = clock
    try:
        yield made
    finally:
        await http.close()


async def test_before_the_first_age_a_task_is_the_seeds_three_parameters() -> None:
    async with Conduit() as conduit, backend(conduit) as client:
        assert await client.execute(LEASE) == Outcome.success()
        assert conduit.calls == [THREE]


async def test_before_the_age_in_between_a_task_has_what_is_declared() -> None:
    async with Conduit(SEED | CONTEXT) as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        assert conduit.calls == [FULL]
    async with Conduit(SEED | {"failureCount", "leaseOwner"}) as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        assert conduit.calls == [{**THREE, "failureCount": 2, "leaseOwner": LEASE.owner}]


async def test_version_1_is_prepared_and_executed() -> None:
    async with Conduit.version_1() as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        assert conduit.calls[1:] == [
            {**FULL, "executionVersion": 1, "phase": "prepare"},
            {**FULL, "executionVersion": 1, "phase": "execute"},
        ]


@pytest.mark.parametrize("conduit", [Conduit(), Conduit(SEED | CONTEXT), Conduit.version_1()])
async def test_the_other_side_is_asked_once_however_many_tasks_there_are(conduit: Conduit) -> None:
    async with conduit, backend(conduit) as client:
        await asyncio.gather(*(client.execute(LEASE) for _ in range(8)))
        await client.execute(LEASE)
        assert len(conduit.executions) == 9
        assert len(conduit.seen) == 9 + 1 + len(conduit.of("prepare"))
        assert len(conduit.of("prepare")) <= 1


async def test_the_question_names_no_task_and_no_class() -> None:
    async with Conduit(SEED | CONTEXT | VERSIONED, capabilities=envelope()) as lenient, backend(lenient) as client:
        await client.check()
        [question] = lenient.calls
        assert (question["taskID"], question["taskClass"], question["data"]) == (0, "", "")
        assert (question["phase"], question["leaseOwner"]) == ("capabilities", "")


@pytest.mark.parametrize(
    "answer",
    [
        envelope(),
        envelope({"result": "success"}),
        envelope({"result": "capabilities"}),
        envelope({"result": "capabilities", "executionVersion": "1"}),
        envelope({"result": "capabilities", "executionVersion": True}),
        envelope(code="ERR-NO-TASK-CLASS", info="no class"),
        envelope(code="ERR-CONDUIT-CORE", info="boom"),
    ],
)
async def test_any_other_answer_stands_for_the_first_age(answer: Reply) -> None:
    async with Conduit(SEED | CONTEXT | VERSIONED, capabilities=answer) as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        assert conduit.executions == [THREE]
        client.clock.now = HOUR - 1
        await client.execute(LEASE)
        assert len(conduit.of("capabilities")) == 1
        client.clock.now = HOUR + 1
        await client.execute(LEASE)
        assert len(conduit.of("capabilities")) == 2


@pytest.mark.parametrize("answer", [reply(500, "<h1>Fatal"), reply(200, "<html>"), reply(502), reset, hang])
async def test_an_answer_that_says_nothing_is_asked_for_again_soon(
    answer: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "PROBE_TIMEOUT", 0.1)
    async with Conduit(SEED | CONTEXT | VERSIONED, capabilities=answer) as conduit, backend(conduit) as client:
        assert await client.execute(LEASE) == Outcome.success()
        assert conduit.executions == [THREE]
        conduit.phases["capabilities"] = Conduit.version_1().phases["capabilities"]
        client.clock.now = 61
        await client.execute(LEASE)
        assert [call["phase"] for call in conduit.calls[-3:]] == ["capabilities", "prepare", "execute"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(401), "HTTP 401, check CONDUIT_TOKEN"),
        (reply(404), "HTTP 404, check CONDUIT_URL"),
        (reply(302), "HTTP 302, a redirect"),
        (reply(503), "HTTP 503"),
        (envelope(code="ERR-INVALID-AUTH", info="no"), "check CONDUIT_TOKEN and what its account may do"),
        (envelope(code="ERR-WORKER-AUTH", info="no"), "check CONDUIT_TOKEN and what its account may do"),
        (
            envelope(code="ERR-CONDUIT-CALL", info='Conduit API method "worker.execute" does not exist.'),
            "install it with `gorge-worker phorge install` on that Phorge's host (--root names its folder), and reload",
        ),
    ],
)
async def test_what_proves_that_nothing_works_executes_nothing_and_is_not_remembered(
    answer: Reply, reason: str
) -> None:
    async with Conduit.version_1(capabilities=answer) as conduit, backend(conduit) as client:
        for ask in (client.check, lambda: client.execute(LEASE)):
            with pytest.raises(BackendUnavailable) as caught:
                await ask()
            assert reason in str(caught.value)
            assert "\n" not in str(caught.value)
        assert conduit.executions == []
        conduit.phases["capabilities"] = Conduit.version_1().phases["capabilities"]
        assert await client.execute(LEASE) == Outcome.success()


@pytest.mark.parametrize("code", ["ERR-WORKER-LEASE", "ERR-WORKER-CONTEXT"])
async def test_who_looks_for_the_questions_lease_is_of_version_1(code: str) -> None:
    async with Conduit.version_1(capabilities=envelope(code=code, info="no")) as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        assert [call["phase"] for call in conduit.calls] == ["capabilities", "prepare", "execute"]


@pytest.mark.parametrize("code", ["ERR-WORKER-LEASE", "ERR-WORKER-CONTEXT"])
async def test_a_lease_that_was_not_named_is_not_lost(code: str) -> None:
    said_nothing = reply(500, "<h1>Fatal")
    async with (
        Conduit.version_1(capabilities=said_nothing, **{"": envelope(code=code, info="no")}) as conduit,
        backend(conduit) as client,
    ):
        assert await client.execute(LEASE) == Outcome.success()
        phases = [call.get("phase", "") for call in conduit.calls]
        assert phases == ["capabilities", "", "prepare", "execute"]
        await client.execute(LEASE)
        assert [call["phase"] for call in conduit.calls[4:]] == ["execute"]


@pytest.mark.parametrize("declared", [SEED, SEED | {"failureCount"}])
async def test_who_looks_for_a_lease_that_can_not_be_named_is_the_backends_fault(declared: frozenset[str]) -> None:
    async with (
        Conduit(declared, **{"": envelope(code="ERR-WORKER-LEASE", info="no")}) as conduit,
        backend(conduit) as client,
    ):
        for tried in (1, 2):
            with pytest.raises(BackendUnavailable, match="does not define these parameters"):
                await client.execute(LEASE)
            assert len(conduit.executions) == tried


async def test_parameters_that_are_refused_later_are_left_out_from_then_on() -> None:
    async with Conduit.version_1() as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        conduit.declared = SEED
        assert await client.execute(LEASE) == Outcome.success()
        assert conduit.calls[-1] == THREE
        seen = len(conduit.seen)
        await client.execute(LEASE)
        assert len(conduit.seen) == seen + 1


async def test_a_method_that_takes_not_even_a_task_is_the_backends_fault() -> None:
    async with Conduit(frozenset({"taskID"})) as conduit, backend(conduit) as client:
        with pytest.raises(BackendUnavailable, match="does not define these parameters"):
            await client.execute(LEASE)
        conduit.declared = SEED | CONTEXT
        await client.execute(LEASE)
        assert conduit.calls == [FULL], "it was asked anew"


async def test_a_backend_that_was_away_is_asked_anew() -> None:
    async with Conduit() as conduit, backend(conduit) as client:
        await client.execute(LEASE)
        conduit.phases[""] = reply(503)
        with pytest.raises(BackendUnavailable):
            await client.execute(LEASE)
        conduit.declared = SEED | CONTEXT
        conduit.phases = {}
        await client.execute(LEASE)
        assert conduit.calls[-1] == FULL


async def test_a_class_is_prepared_once_an_hour() -> None:
    async with Conduit.version_1() as conduit, backend(conduit) as client:
        for now, prepared in ((0, 1), (HOUR - 1, 1), (HOUR + 1, 2)):
            client.clock.now = now
            await client.execute(LEASE)
            assert len(conduit.of("prepare")) == prepared
        await client.execute(lease_of("OtherWorker"))
        assert len(conduit.of("prepare")) == 3


async def test_only_so_many_classes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "MOST_CLASSES", 3)
    async with Conduit.version_1() as conduit, backend(conduit) as client:
        for name in ("A", "B", "C", "D", "D", "C", "A"):
            await client.execute(lease_of(f"{name}Worker"))
        assert [call["taskClass"][0] for call in conduit.of("prepare")] == ["A", "B", "C", "D", "A"]
        assert len(client._preparations._known) == 3


@pytest.mark.parametrize("answer", [reply(500), reply(200, "<html>"), reset, hang, envelope(code="ERR-X", info="?")])
async def test_a_preparation_that_says_nothing_stops_no_task(answer: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "PREPARE_TIMEOUT", 0.1)
    async with Conduit.version_1(prepare=answer) as conduit, backend(conduit) as client:
        assert await client.execute(LEASE) == Outcome.success()
        await client.execute(LEASE)
        assert len(conduit.of("prepare")) == 1
        client.clock.now = 61
        await client.execute(LEASE)
        assert len(conduit.of("prepare")) == 2


@pytest.mark.parametrize("result", [{"result": "skipped"}, {"result": "dance"}, None, "prepared"])
async def test_a_preparation_without_an_opinion_is_remembered(result: Any) -> None:
    async with Conduit.version_1(prepare=envelope(result)) as conduit, backend(conduit) as client:
        for _ in range(2):
            assert await client.execute(LEASE) == Outcome.success()
        assert len(conduit.of("prepare")) == 1


async def test_a_task_that_can_not_be_prepared_fails_for_good_and_its_class_does_not() -> None:
    failure = envelope({"result": "permanent-failure", "failureReason": "too many failures"})
    async with Conduit.version_1(prepare=failure) as conduit, backend(conduit) as client:
        assert await client.execute(LEASE) == Outcome.permanent_failure("too many failures")
        assert conduit.executions == []
        conduit.phases["prepare"] = envelope({"result": "prepared", "leaseDuration": 60})
        assert await client.execute(LEASE) == Outcome.success()


async def test_tasks_of_one_class_that_can_not_be_prepared_are_each_asked_for() -> None:
    failure = envelope({"result": "permanent-failure", "failureReason": "too many failures"})
    async with Conduit.version_1(prepare=failure) as conduit, backend(conduit) as client:
        outcomes = await asyncio.gather(*(client.execute(LEASE) for _ in range(3)))
        assert {one.verdict for one in outcomes} == {Verdict.PERMANENT_FAILURE}
        assert len(conduit.of("prepare")) == 3


@pytest.mark.parametrize("phase", ["prepare", "execute"])
@pytest.mark.parametrize("code", ["ERR-WORKER-LEASE", "ERR-WORKER-CONTEXT"])
async def test_a_lease_that_php_does_not_see_is_lost_in_either_phase(phase: str, code: str) -> None:
    async with Conduit.version_1(**{phase: envelope(code=code, info="no")}) as conduit, backend(conduit) as client:
        with pytest.raises(LeaseLost, match=code):
            await client.execute(LEASE)


async def test_the_class_sets_the_deadline() -> None:
    prepared = envelope({"result": "prepared", "leaseDuration": 1})
    async with Conduit.version_1(prepare=prepared, execute=hang) as conduit, backend(conduit) as client:
        assert client.timeout == math.inf
        outcome = await client.execute(LEASE)
        assert outcome == Outcome.temporary_failure("time-out: not finished within 1 s, PHP may still be executing it")
        assert len(conduit.executions) == 1


async def test_a_time_out_of_the_operators_own_is_kept_by_the_engine_and_nothing_is_prepared() -> None:
    async with Conduit.version_1() as conduit, backend(conduit, limit=9.0) as client:
        assert client.timeout == 9.0
        await client.execute(LEASE)
        assert conduit.of("prepare") == []


async def test_who_is_cancelled_while_asking_does_not_cancel_the_others() -> None:
    go = asyncio.Event()

    async def slow(request: Any) -> Any:
        await go.wait()
        return await Conduit.version_1().phases["capabilities"](request)

    async with Conduit.version_1(capabilities=slow) as conduit, backend(conduit) as client:
        first, second = [asyncio.create_task(client.execute(LEASE)) for _ in range(2)]
        await until(lambda: conduit.of("capabilities"))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go.set()
        assert await second == Outcome.success()
        assert len(conduit.of("capabilities")) == 1


async def test_a_cancellation_stays_one_while_a_deadline_is_kept() -> None:
    async with Conduit.version_1(execute=hang) as conduit, backend(conduit) as client:
        execution = asyncio.create_task(client.execute(LEASE))
        await until(lambda: conduit.executions)
        execution.cancel()
        with pytest.raises(asyncio.CancelledError):
            await execution


async def test_follow_up_tasks_of_version_1_are_handed_on() -> None:
    followup = {"taskClass": "NextWorker", "data": '{"key":1}', "priority": 2500}
    success = envelope({"result": "success", "duration": 5, "followups": [followup]})
    async with Conduit.version_1(execute=success) as conduit, backend(conduit) as client:
        outcome = await client.execute(LEASE)
    assert (outcome.duration, [one.task_class for one in outcome.followups]) == (5, ["NextWorker"])
