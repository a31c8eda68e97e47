from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest
from support.scripted_http import PAGE, Call, ScriptedHttp, answer, data, error
from support.virtual_time import VirtualClock

from gorge_worker.errors import QueueTrouble
from gorge_worker.http_client import HttpAnswer, NoAnswer
from gorge_worker.queues.gorge import listing
from gorge_worker.queues.gorge.listing import NoListing, find_leased
from gorge_worker.queues.gorge.wire import Wire

DATE = "Thu, 01 Jan 1970 02:00:00 GMT"
NOW = 7200


def row(task_id: int, owner: str | None = "me", left: int = 1000) -> dict[str, Any]:
    fields = {"id": task_id, "taskClass": "Some", "leaseOwner": owner, "leaseExpires": NOW + left}
    return {name: value for name, value in fields.items() if value is not None}


class Table:
    """Serves pages of rows, and changes between them."""

    def __init__(self, rows: list[dict[str, Any]], cap: int = 10_000) -> None:
        self.http = ScriptedHttp()
        self.http.always["tasks"] = self.page
        self.rows = rows
        self.cap = cap
        self.leaving = 0
        self.coming = 0

    async def page(self, call: Call) -> HttpAnswer:
        query = {name: int(values[0]) for name, values in parse_qs(call.query).items() if name != "leaseOwner"}
        page = self.rows[query["offset"] :][: min(query["limit"], self.cap)]
        self.rows = [row(10**6 + len(self.http.calls), None)] * self.coming + self.rows[self.leaving :]
        return data(page, Date=DATE)

    async def find(self, *owners: str) -> list[int]:
        return sorted(found.task_id for found in await find_leased(Wire(self.http), owners, VirtualClock()))


async def test_only_rows_of_the_owners_count_whatever_the_queue_filters() -> None:
    table = Table([row(1), row(2, None), row(3, "you"), row(4, "me too"), row(5, "(yield)")])
    assert await table.find("me", "me too") == [1, 4]
    [call] = table.http.calls
    assert "leaseOwner" not in call.query


async def test_a_single_owner_is_sent_as_a_hint() -> None:
    table = Table([row(1)])
    assert await table.find("pid:1:host:1") == []
    assert parse_qs(table.http.calls[0].query)["leaseOwner"] == ["pid:1:host:1"]


async def test_a_lease_that_ends_soon_or_has_none_is_left_alone() -> None:
    table = Table([row(1, left=31), row(2, left=30), row(3, left=-5), {"id": 4, "leaseOwner": "me"}])
    assert await table.find("me") == [1]


@pytest.mark.parametrize("cap", [100, 137, 500])
async def test_all_pages_are_read_whatever_the_queue_allows_a_page(cap: int) -> None:
    table = Table([row(number) for number in range(1, 1101)], cap)
    assert await table.find("me") == list(range(1, 1101))


@pytest.mark.parametrize("leaving", [1, 49, 50, 120, 400])
async def test_rows_that_move_up_meanwhile_are_not_missed(leaving: int) -> None:
    rows = [row(number, None) for number in range(1, 2001)] + [row(number) for number in range(2001, 4001)]
    table = Table(rows)
    table.leaving = leaving
    found = await table.find("me")
    assert set(found) >= {one["id"] for one in table.rows if one.get("leaseOwner") == "me"}


async def test_rows_that_move_down_meanwhile_do_no_harm() -> None:
    table = Table([row(number) for number in range(1, 1101)])
    table.coming = 20
    assert await table.find("me") == list(range(1, 1101))


async def test_the_look_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_PAGES", 3)
    table = Table([row(number) for number in range(1, 5000)])
    assert await table.find("me") == list(range(1, 1401))
    assert len(table.http.calls) == 3


async def test_rows_that_can_not_be_read_harm_no_other() -> None:
    table = Table([row(1), row(2) | {"id": "two"}, row(3) | {"leaseOwner": 5}, {"id": "\ud800"}, row(4)])
    assert await table.find("me") == [1, 4]


async def test_an_empty_queue_holds_nothing() -> None:
    assert await Table([]).find("me") == []


@pytest.mark.parametrize("bad", [PAGE, error(500), answer(200, "{}"), data({"a": 1}), data("x"), NoAnswer("cut")])
async def test_no_usable_answer_is_trouble(bad: HttpAnswer | Exception) -> None:
    http = ScriptedHttp()
    http.always["tasks"] = bad
    with pytest.raises(QueueTrouble) as raised:
        await find_leased(Wire(http), ["me"], VirtualClock())
    assert not isinstance(raised.value, NoListing)


async def test_a_queue_without_a_listing_is_told_apart() -> None:
    with pytest.raises(NoListing):
        await find_leased(Wire(ScriptedHttp()), ["me"], VirtualClock())
