"""The adapter on the Go server's rule, in virtual time: what is hidden or lost comes back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from support.go_http import GoHttp
from support.scripted_http import Call, data, error
from support.virtual_time import VirtualClock, run_virtually

from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import HttpAnswer
from gorge_worker.model import Lease, Outcome
from gorge_worker.queues.gorge import GorgeQueue
from gorge_worker.queues.owners import OwnerNames
from gorge_worker.queues.protocol import LeaseRequest, Receipt, Report


class Lab:
    def __init__(self) -> None:
        clock, rng = VirtualClock(), random.Random(1)
        self.http = GoHttp(clock)
        self.table = self.http.table
        self.queue = GorgeQueue(self.http, OwnerNames(clock, rng), clock, rng)

    async def lease(self, limit: int) -> list[Lease]:
        return (await self.queue.lease(LeaseRequest(limit=limit))).leases

    async def report(self, lease: Lease, outcome: Outcome) -> Receipt:
        [result] = await self.queue.report([Report(lease=lease, outcome=outcome, duration=1)])
        return result.receipt

    def due(self, count: int) -> list[int]:
        """Enqueues tasks that have been yielded and are due: a lease takes them beside as many new ones."""
        rows = [self.table.enqueue(priority=4000) for _ in range(count)]
        for row in rows:
            row.owner, row.expires = "(yield)", self.table.now() - 10
        return [row.id for row in rows]

    def owner(self, task_id: int) -> str | None:
        return self.table.rows[task_id].owner


def in_virtual_time(test: Callable[[Lab], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def main() -> None:
            lab = Lab()
            try:
                await test(lab)
            finally:
                await lab.queue.close()

        run_virtually(main())

    run.__name__ = test.__name__
    return run


@in_virtual_time
async def test_hidden_tasks_are_shown_when_the_lane_asks_again(lab: Lab) -> None:
    lab.table.enqueue()
    [hidden] = lab.due(1)
    [shown] = await lab.lease(1)
    assert lab.owner(hidden) == shown.owner
    await lab.report(shown, Outcome.success())
    [second] = await lab.lease(1)
    assert (second.task.id, second.owner) == (hidden, shown.owner)


@in_virtual_time
async def test_a_busy_lane_asks_for_nothing_and_is_looked_through_after_a_while(lab: Lab) -> None:
    slow = lab.table.enqueue().id
    hidden = lab.due(1)
    [running] = await lab.lease(1)
    assert await lab.lease(1) == []
    assert len(set(lab.http.server.owners)) == 2
    await asyncio.sleep(29)
    assert lab.http.at("tasks") == []
    await asyncio.sleep(17)
    assert lab.owner(hidden[0]) == "(yield)"
    assert lab.owner(slow) == running.owner, "what runs is left alone"
    await asyncio.sleep(300)
    assert len(lab.http.at("tasks")) == 1, "nothing is hidden any more"
    assert [one.task.id for one in await lab.lease(1)] == hidden


@in_virtual_time
async def test_a_look_that_fails_is_taken_again(lab: Lab) -> None:
    lab.table.enqueue()
    [hidden] = lab.due(1)
    await lab.lease(1)
    lab.http.script("tasks", error(500))
    lab.http.script("yield", error(503))
    await asyncio.sleep(46)
    assert lab.owner(hidden) not in (None, "(yield)")
    await asyncio.sleep(100)
    assert await lab.lease(1) == []
    await asyncio.sleep(10)
    assert [one.task.id for one in await lab.lease(1)] == [hidden]


@in_virtual_time
async def test_at_shutdown_hidden_tasks_go_back_and_running_ones_stay(lab: Lab) -> None:
    shown = [lab.table.enqueue().id for _ in range(2)]
    hidden = lab.due(2)
    leases = await lab.lease(2)
    assert sorted(lease.task.id for lease in leases) == shown
    await lab.queue.give_back()
    assert {lab.owner(task_id) for task_id in hidden} == {"(yield)"}
    assert {lab.owner(task_id) for task_id in shown} == {leases[0].owner}


@in_virtual_time
async def test_at_shutdown_a_queue_that_does_not_answer_is_named(lab: Lab) -> None:
    lab.table.enqueue()
    await lab.lease(1)
    lab.http.always["tasks"] = error(500, "ERR_INTERNAL", "down")
    with pytest.raises(QueueTrouble, match="500 ERR_INTERNAL: down"):
        await lab.queue.give_back()


@in_virtual_time
async def test_at_shutdown_nothing_is_asked_when_nothing_can_be_hidden(lab: Lab) -> None:
    await lab.queue.give_back()
    lab.table.enqueue()
    await lab.lease(5)
    await lab.queue.give_back()
    assert [call.route for call in lab.http.calls] == ["meta", "lease"]


@in_virtual_time
async def test_a_lost_answer_is_looked_for_soon_whether_or_not_calls_go_out(lab: Lab) -> None:
    task = lab.table.enqueue()
    lab.http.lose["lease"] = 1
    with pytest.raises(QueueTrouble):
        await lab.lease(3)
    assert task.owner
    await asyncio.sleep(2)
    assert task.owner == "(yield)"
    await asyncio.sleep(7)
    assert [one.task.id for one in await lab.lease(3)] == [task.id]


@in_virtual_time
async def test_a_lost_answer_is_looked_for_until_the_queue_answers(lab: Lab) -> None:
    task = lab.table.enqueue()
    lab.http.lose["lease"] = 1
    with pytest.raises(QueueTrouble):
        await lab.lease(3)
    lab.http.always["tasks"] = error(503)
    await asyncio.sleep(60)
    assert 5 < len(lab.http.at("tasks")) < 15, "tried again, and not hammered"
    del lab.http.always["tasks"]
    await asyncio.sleep(6)
    assert task.owner == "(yield)"


@in_virtual_time
async def test_an_owner_whose_call_was_still_worked_on_is_looked_for_a_second_time(lab: Lab) -> None:
    lab.http.lose["lease"] = 1
    with pytest.raises(QueueTrouble):
        await lab.lease(3)
    await asyncio.sleep(2)
    await lab.lease(3)
    await asyncio.sleep(1)
    late = lab.table.enqueue()
    late.owner, late.expires = lab.http.server.owners[0], lab.table.now() + 7200
    await asyncio.sleep(60)
    await lab.lease(3)
    await asyncio.sleep(1)
    assert late.owner == "(yield)"
    looks = len(lab.http.at("tasks"))
    await asyncio.sleep(600)
    await lab.lease(3)
    await asyncio.sleep(1)
    assert len(lab.http.at("tasks")) == looks, "and then forgotten"


@in_virtual_time
async def test_a_call_that_broke_off_just_before_the_shutdown_is_given_time(lab: Lab) -> None:
    lab.http.lose["lease"] = 1
    with pytest.raises(QueueTrouble):
        await lab.lease(3)
    late = lab.table.enqueue()
    loop = asyncio.get_running_loop()
    loop.call_later(0.9, lab.table.lease, lab.http.server.owners[0], 1)
    await lab.queue.give_back()
    assert late.owner == "(yield)"


@in_virtual_time
async def test_a_queue_without_a_listing_is_lived_with(lab: Lab) -> None:
    lab.http.always["tasks"] = error(404, "ERR_NOT_FOUND")
    lab.table.enqueue()
    [hidden] = lab.due(1)
    [shown] = await lab.lease(1)
    await asyncio.sleep(300)
    assert len(lab.http.at("tasks")) < 12, "it is not asked all the time"
    await lab.report(shown, Outcome.success())
    assert [one.task.id for one in await lab.lease(1)] == [hidden]
    await lab.queue.give_back()


@in_virtual_time
async def test_a_failing_task_is_executed_once_for_each_wait(lab: Lab) -> None:
    lab.table.enqueue()
    executed = []
    for _ in range(1000):
        for lease in await lab.lease(4):
            executed.append(asyncio.get_running_loop().time())
            await lab.report(lease, Outcome.temporary_failure("busy", wait=100))
        await asyncio.sleep(1)
    assert 5 <= len(executed) <= 10
    assert min(later - earlier for earlier, later in pairwise(executed)) >= 99
    assert len(lab.http.at("yield")) <= 2 * len(executed)


@in_virtual_time
async def test_a_failed_task_that_can_not_be_yielded_yet_is_not_executed_either(lab: Lab) -> None:
    task = lab.table.enqueue()
    [lease] = await lab.lease(4)
    await lab.report(lease, Outcome.temporary_failure("busy", wait=100))
    lab.http.script("yield", error(503), error(503))
    for _ in range(20):
        assert await lab.lease(4) == []
        await asyncio.sleep(1)
    assert task.owner == "(yield)"


@in_virtual_time
async def test_a_task_is_not_yielded_when_its_lease_may_have_ended(lab: Lab) -> None:
    lab.table.enqueue()
    [lease] = await lab.lease(4)
    await lab.report(lease, Outcome.temporary_failure("busy", wait=90_000))
    lab.http.always["yield"] = error(503)
    assert await lab.lease(4) == []
    await asyncio.sleep(7300)
    del lab.http.always["yield"]
    seen = len(lab.http.at("yield"))
    lab.table.rows[1].owner, lab.table.rows[1].expires = "somebody else", lab.table.now() + 7200
    await lab.lease(4)
    await asyncio.sleep(10)
    assert len(lab.http.at("yield")) == seen
    assert lab.owner(1) == "somebody else"


@in_virtual_time
async def test_lanes_are_given_up_when_a_queue_with_meta_comes_up(lab: Lab) -> None:
    running, done = lab.table.enqueue().id, lab.table.enqueue().id
    await lab.lease(1)
    [hidden] = lab.due(1)
    [lease] = await lab.lease(1)
    assert (lease.task.id, lab.owner(hidden)) == (done, lease.owner)
    await lab.report(lease, Outcome.success())
    lab.http.always["meta"] = data({"executionVersion": 0})
    lab.http.script("lease", error(401))
    with pytest.raises(QueueTrouble):
        await lab.lease(1)
    await lab.lease(1)
    await asyncio.sleep(2)
    await lab.lease(1)
    await asyncio.sleep(1)
    assert lab.owner(hidden) == "(yield)"
    assert lab.owner(running) == lab.http.server.owners[0]
    assert len(set(lab.http.server.owners)) == len(lab.http.server.owners), "no lane has asked again"


@in_virtual_time
async def test_a_lane_that_has_asked_again_meanwhile_is_not_looked_through(lab: Lab) -> None:
    """Its answer is on the way, so that what it is being shown can't be told from what is hidden."""

    async def slow(call: Call) -> HttpAnswer:
        result = await lab.http.act(call)
        await asyncio.sleep(20)
        return result

    lab.table.enqueue()
    [hidden] = lab.due(1)
    [shown] = await lab.lease(1)
    lab.http.script("yield", slow)
    lab.queue._recovery._give_backs.add(999, due=0.0, ends_at=1e9)
    await until_called(lab, "yield")
    await lab.report(shown, Outcome.success())
    lab.http.script("lease", slow)
    [lease] = await lab.lease(1)
    assert (lease.task.id, lease.owner) == (hidden, shown.owner)
    await asyncio.sleep(5)
    assert lab.owner(hidden) == lease.owner


async def until_called(lab: Lab, route: str) -> None:
    while not lab.http.at(route):  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(1)


@in_virtual_time
async def test_generation_1_hides_nothing_and_is_not_listed(lab: Lab) -> None:
    lab.http.server.generation = 1
    lab.table.enqueue()
    lab.due(1)
    await lab.lease(1)
    await asyncio.sleep(300)
    await lab.queue.give_back()
    assert lab.http.at("tasks") == []


@in_virtual_time
async def test_what_a_lost_answer_of_generation_1_has_leased_goes_back_under_its_lease(lab: Lab) -> None:
    lab.http.server.generation = 1
    task = lab.table.enqueue()
    lab.http.lose["lease"] = 1
    with pytest.raises(QueueTrouble):
        await lab.lease(3)
    owner, expires = task.owner, task.expires
    await asyncio.sleep(2)
    assert task.owner == "(yield)"
    [body] = lab.http.bodies("resolve")
    assert body == {
        "taskID": task.id,
        "leaseOwner": owner,
        "leaseExpires": expires,
        "outcome": "yield",
        "duration": 5,
    }
    assert lab.http.at("yield") == []


@in_virtual_time
async def test_what_lanes_hide_is_found_when_the_queue_turns_into_generation_1(lab: Lab) -> None:
    lab.table.enqueue()
    [hidden] = lab.due(1)
    [shown] = await lab.lease(1)
    lab.http.server.generation = 1
    lab.queue._meta.forget()
    await lab.report(shown, Outcome.success())
    assert await lab.lease(1) == []
    await asyncio.sleep(2)
    assert lab.owner(hidden) == "(yield)"
    assert lab.http.server.mixed == []
