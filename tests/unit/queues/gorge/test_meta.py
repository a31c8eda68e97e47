from __future__ import annotations

import asyncio

import pytest
from support.scripted_http import PAGE, ScriptedHttp, answer, data, error
from support.virtual_time import VirtualClock

from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import HttpAnswer, NoAnswer, NotSent
from gorge_worker.queues.gorge.meta import PLAIN, STALE, Meta
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Features


def make() -> tuple[ScriptedHttp, Meta]:
    http = ScriptedHttp()
    return http, Meta(Wire(http), VirtualClock())


@pytest.mark.parametrize("missing", [error(404), answer(404, "<html>"), answer(404, "")])
async def test_only_a_404_means_plain_generation_0(missing: HttpAnswer) -> None:
    http, meta = make()
    http.always["meta"] = missing
    assert await meta.known() == PLAIN
    assert meta.latest.features == Features(class_filter=False, long_poll=0.0)


@pytest.mark.parametrize(
    "bad",
    [
        error(500),
        error(401),
        PAGE,
        answer(200, "<html>"),
        answer(302, ""),
        data({}),
        data(None),
        data({"executionVersion": "1"}),
        NotSent("refused"),
        NoAnswer("cut"),
    ],
)
async def test_anything_else_is_asked_again(bad: HttpAnswer | Exception) -> None:
    http, meta = make()
    http.script("meta", bad, data({"executionVersion": 1}))
    with pytest.raises(QueueTrouble):
        await meta.known()
    assert (await meta.known()).features == Features(class_filter=True)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("long_poll", [True, False, None])
async def test_meta_tells_what_the_queue_can_do(version: int, long_poll: bool | None) -> None:  # noqa: FBT001 - drawn
    http, meta = make()
    http.always["meta"] = data({"executionVersion": version, "longPoll": long_poll, "leaseOutcomes": True})
    generation = await meta.known()
    assert generation.execution_version == version
    assert generation.fenced == bool(version)
    poll = 25.0 if long_poll else 0.0
    assert generation.features == Features(class_filter=True, renews=bool(version), long_poll=poll)
    assert not generation.hides_leases


async def test_extensions_are_used_where_they_are_announced() -> None:
    http, meta = make()
    http.script("meta", data({"executionVersion": 1, "leaseOutcomes": True}))
    plain = await meta.known()
    assert (plain.release, plain.features.class_exclusion, plain.lease_duration) == (False, False, 7200)
    meta.forget()
    told = {"release": True, "excludeTaskClasses": True, "leaseDuration": 300}
    http.script("meta", data({"executionVersion": 1, "leaseOutcomes": True, **told}))
    rich = await meta.known()
    assert (rich.release, rich.features.class_exclusion, rich.lease_duration) == (True, True, 300)


async def test_a_later_version_without_lease_outcomes_is_spoken_to_as_the_first() -> None:
    http, meta = make()
    http.always["meta"] = data({"executionVersion": 1, "leaseOutcomes": False})
    assert not (await meta.known()).fenced


async def test_it_is_asked_once_and_again_after_trouble() -> None:
    http, meta = make()
    await meta.known()
    await meta.known()
    assert len(http.calls) == 1
    meta.forget()
    http.always["meta"] = data({"executionVersion": 0, "longPoll": True})
    assert not meta.latest.features.long_poll
    assert (await meta.known()).features.long_poll
    assert len(http.calls) == 2


@pytest.mark.virtual_time
async def test_an_outage_between_two_leases_counts_too() -> None:
    http, meta = make()
    await meta.known()
    for _ in range(5):
        await asyncio.sleep(STALE)
        await meta.known()
        meta.answered()
    assert len(http.calls) == 1, "it answers all the time"
    await asyncio.sleep(STALE + 0.1)
    http.always["meta"] = data({"executionVersion": 1, "leaseOutcomes": True})
    assert (await meta.known()).fenced
    await meta.known()
    assert len(http.calls) == 2


@pytest.mark.virtual_time
async def test_while_meta_can_not_be_had_what_was_told_last_holds() -> None:
    http, meta = make()
    http.always["meta"] = data({"executionVersion": 1, "leaseOutcomes": True})
    await meta.known()
    meta.forget()
    http.always["meta"] = error(503)
    with pytest.raises(QueueTrouble):
        await meta.known()
    assert meta.latest.features.renews, "what is held is renewed all the same"


@pytest.mark.parametrize(("lease", "poll"), [(7200, 25.0), (250, 25.0), (60, 6.0), (4, 0.4), (None, 25.0)])
@pytest.mark.virtual_time
async def test_a_long_poll_is_short_against_a_lease(lease: int | None, poll: float) -> None:
    http, meta = make()
    http.always["meta"] = data({"executionVersion": 0, "longPoll": True, "leaseDuration": lease})
    assert (await meta.known()).features.long_poll == pytest.approx(poll)
