"""One renewal call and what comes of it, on a scripted queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest
from structlog.testing import capture_logs
from support.virtual_time import VirtualClock

from gorge_worker.engine.held import Held, HeldTasks
from gorge_worker.engine.renewing import ANSWER_LIMIT, SHARE, Renewals
from gorge_worker.model import Lease, Task
from gorge_worker.queues.protocol import Receipt, Renewal

pytestmark = pytest.mark.virtual_time

TROUBLE = Renewal(Receipt.TROUBLE, reason="no")
LOST = Renewal(Receipt.LEASE_LOST, reason="freed")


def accepted(lease: Lease) -> Renewal:
    later = msgspec.structs.replace(lease, expires=lease.expires + 10, ends_at=lease.ends_at + 10)
    return Renewal(Receipt.ACCEPTED, later)


class Bench:
    """Renewals of `count` held tasks; `answer` is the queue's, `calls` has the ids asked for."""

    def __init__(self, count: int = 1, seconds: float = 300.0) -> None:
        self.clock = VirtualClock()
        self.tasks = HeldTasks()
        self.held = [self._take(number + 1, seconds) for number in range(count)]
        self.calls: list[list[int]] = []
        self.lost: list[tuple[int, str]] = []
        self.answer: Callable[[Sequence[Lease]], Awaitable[list[Renewal]]] = self.accept
        self.renewals = Renewals(self, self.tasks, self.clock, self._lose)  # type: ignore[arg-type]

    def _take(self, task_id: int, seconds: float) -> Held:
        held = self.tasks.take(self.lease(task_id, seconds), self.clock.boottime())
        assert held is not None
        return held

    def lease(self, task_id: int, seconds: float = 300.0, owner: str = "me") -> Lease:
        task = Task(id=task_id, task_class="A")
        return Lease(task=task, owner=owner, expires=1000, ends_at=self.clock.boottime() + seconds)

    def _lose(self, held: Held, reason: str) -> None:
        held.lose(reason)
        self.lost.append((held.lease.task.id, reason))

    async def renew(self, leases: Sequence[Lease]) -> list[Renewal]:
        self.calls.append([one.task.id for one in leases])
        return await self.answer(leases)

    async def accept(self, leases: Sequence[Lease]) -> list[Renewal]:
        return [accepted(one) for one in leases]

    def answers(self, *renewals: Renewal | None) -> None:
        """None accepts."""

        async def answer(leases: Sequence[Lease]) -> list[Renewal]:
            return [one or accepted(lease) for one, lease in zip(renewals, leases, strict=True)]

        self.answer = answer

    def hangs(self) -> None:
        async def answer(_leases: Sequence[Lease]) -> list[Renewal]:
            await asyncio.Event().wait()
            raise AssertionError("not reached")

        self.answer = answer

    def takes(self, seconds: float, then: Renewal | None = None) -> None:
        async def answer(leases: Sequence[Lease]) -> list[Renewal]:
            await asyncio.sleep(seconds)
            return [then or accepted(one) for one in leases]

        self.answer = answer


async def test_each_task_of_one_call_has_its_own_fate() -> None:
    bench = Bench(3)
    good, _, doubtful = bench.held
    bench.answers(None, LOST, TROUBLE)
    await asyncio.sleep(5)
    assert not await bench.renewals.renew(bench.held)
    assert bench.calls == [[1, 2, 3]]
    assert (good.lease.expires, good.checked_at, good.is_settled) == (1010, bench.clock.boottime(), True)
    assert bench.lost == [(2, "freed")]
    assert (doubtful.lease.expires, doubtful.is_settled) == (1000, False)


async def test_a_lease_is_not_settled_while_its_renewal_is_under_way() -> None:
    bench = Bench()
    bench.takes(3)
    renewing = asyncio.create_task(bench.renewals.renew(bench.held))
    await asyncio.sleep(1)
    assert not bench.held[0].is_settled
    assert await renewing
    assert bench.held[0].is_settled


async def test_settling_waits_for_the_renewal_under_way_and_asks_for_nothing_else() -> None:
    bench = Bench()
    bench.takes(3)
    renewing = asyncio.create_task(bench.renewals.renew(bench.held))
    await asyncio.sleep(1)
    await bench.renewals.settle(bench.held)
    assert (bench.held[0].is_settled, bench.held[0].lease.expires) == (True, 1010)
    assert bench.calls == [[1]]
    await renewing


async def test_settling_renews_what_the_renewal_under_way_leaves_in_doubt() -> None:
    bench = Bench(2)
    bench.takes(3, TROUBLE)
    renewing = asyncio.create_task(bench.renewals.renew(bench.held))
    await asyncio.sleep(1)
    settling = asyncio.create_task(bench.renewals.settle(bench.held[:1]))
    await asyncio.sleep(1)
    bench.answer = bench.accept
    await settling
    assert bench.calls == [[1, 2], [1]]
    assert [one.is_settled for one in bench.held] == [True, False]
    await renewing


@pytest.mark.parametrize(("answer", "settled", "lost"), [(TROUBLE, False, []), (LOST, False, [(1, "freed")])])
async def test_what_comes_of_settling(answer: Renewal, settled: bool, lost: list[object]) -> None:  # noqa: FBT001
    bench = Bench()
    bench.answers(TROUBLE)
    await bench.renewals.renew(bench.held)
    bench.answers(answer)
    await bench.renewals.settle(bench.held)
    assert (bench.held[0].is_settled, bench.lost) == (settled, lost)


@pytest.mark.parametrize("over", ["lost", "ended", "settled"])
async def test_settling_does_not_ask_about_what_is_over(over: str) -> None:
    bench = Bench(seconds=10)
    if over != "settled":
        bench.answers(TROUBLE)
        await bench.renewals.renew(bench.held)
    if over == "lost":
        bench.held[0].lose("freed")
    if over == "ended":
        await asyncio.sleep(10)
    bench.calls.clear()
    await bench.renewals.settle(bench.held)
    assert bench.calls == []


@pytest.mark.parametrize("answer", [None, LOST, TROUBLE])
async def test_an_answer_about_a_lease_that_was_replaced_in_the_meantime_counts_for_nothing(
    answer: Renewal | None,
) -> None:
    bench = Bench()
    bench.takes(3, answer)
    renewing = asyncio.create_task(bench.renewals.renew(bench.held))
    await asyncio.sleep(1)
    newer = bench.lease(1, owner="me again")
    bench.tasks.take(newer, bench.clock.boottime())
    await renewing
    assert bench.held[0].lease is newer
    assert bench.held[0].is_settled
    assert bench.lost == []


@pytest.mark.parametrize("answer", [None, LOST, TROUBLE])
@pytest.mark.parametrize("how", ["let go", "lost"])
async def test_an_answer_about_a_task_that_was_given_up_in_the_meantime_counts_for_nothing(
    answer: Renewal | None, how: str
) -> None:
    bench = Bench()
    [held] = bench.held
    bench.takes(3, answer)
    renewing = asyncio.create_task(bench.renewals.renew(bench.held))
    await asyncio.sleep(1)
    if how == "let go":
        bench.tasks.let_go(held)
    else:
        held.lose("the lease has ended")
    await renewing
    assert (held.lease.expires, bench.lost) == (1000, [])
    assert held.is_settled


@pytest.mark.parametrize(("length", "limit"), [(300.0, ANSWER_LIMIT), (6.0, 6 * SHARE)])
async def test_a_call_without_an_answer_is_given_up_in_time_for_another(length: float, limit: float) -> None:
    bench = Bench(2, length)
    bench.hangs()
    began = bench.clock.boottime()
    with capture_logs() as logs:
        assert not await bench.renewals.renew(bench.held)
    assert bench.clock.boottime() - began == pytest.approx(limit)
    assert [one.is_settled for one in bench.held] == [False, False]
    assert logs[0]["reason"] == f"no answer within {limit:g} s"


async def test_a_call_that_is_broken_off_leaves_its_leases_in_doubt() -> None:
    bench = Bench()
    bench.hangs()
    renewing = asyncio.create_task(bench.renewals.renew(bench.held))
    await asyncio.sleep(1)
    renewing.cancel()
    await asyncio.wait([renewing])
    assert (bench.held[0].renewing, bench.held[0].in_doubt) == (None, True)


@pytest.mark.parametrize("error", [RuntimeError("hunter2"), TimeoutError()])
async def test_a_fault_of_the_adapters_is_logged_and_counts_as_trouble(error: Exception) -> None:
    bench = Bench()

    async def fail(_leases: Sequence[Lease]) -> list[Renewal]:
        raise error

    bench.answer = fail
    with capture_logs() as logs:
        assert not await bench.renewals.renew(bench.held)
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["the engine failed"]
    assert not bench.held[0].is_settled


async def test_trouble_is_told_when_it_begins_and_when_it_ends() -> None:
    bench = Bench(2)
    with capture_logs() as logs:
        for answers in [(None, None), (TROUBLE, None), (TROUBLE, TROUBLE), (None, TROUBLE), (None, None), (None, None)]:
            bench.answers(*answers)
            await bench.renewals.renew(bench.held)
    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("warning", "leases can't be renewed, it is tried again until they end"),
        ("info", "the queue renews leases again"),
    ]
    assert (logs[0]["leases"], logs[0]["reason"]) == (1, "no")
