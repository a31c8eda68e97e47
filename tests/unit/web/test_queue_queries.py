from __future__ import annotations

import random

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from gorge_worker.queues.store import BadTask
from gorge_worker.web.errors import Refused
from gorge_worker.web.queue_queries import MAX_PAGE, Page, lease_owner_of, page_of, task_id_of

RNG = random.Random(1)


def page(query: str) -> Page:
    return page_of(make_mocked_request("GET", f"/api/queue/tasks{query}"))


def owned(owner: str) -> web.Request:
    return make_mocked_request("POST", "/", headers={"X-Lease-Owner": owner})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", Page(100, 0, None)),
        ("?limit=&offset=&leaseOwner=", Page(100, 0, None)),
        ("?limit=2&offset=3&leaseOwner=1:2:h%C3%B6st:4", Page(2, 3, "1:2:höst:4")),
        ("?limit=99999&offset=99999999999999999999", Page(MAX_PAGE, 2**32 - 1, None)),
    ],
)
def test_a_page_is_what_the_query_says(query: str, expected: Page) -> None:
    assert page(query) == expected


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=-1", "?limit=x", "?limit=1.5", "?offset=-1", "?limit=%D9%A1", "?limit=1_0"]
)
def test_a_page_that_is_none_is_refused(query: str) -> None:
    with pytest.raises(Refused) as refused:
        page(query)
    assert refused.value.status == 400


def test_an_owner_that_nobody_can_have_is_refused_in_a_listing() -> None:
    with pytest.raises(BadTask):
        page("?leaseOwner=" + "x" * 65)


@pytest.mark.parametrize("text", ["0", "-1", "one", "1.0", "9" * 101, "+1"])
def test_a_bad_id_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        task_id_of(make_mocked_request("GET", "/", match_info={"id": text}))
    assert refused.value.status == 400


def test_an_id_may_be_larger_than_any_that_exists() -> None:
    assert task_id_of(make_mocked_request("GET", "/", match_info={"id": "9" * 100})) == int("9" * 100)


def test_an_owner_of_sixty_four_bytes_is_taken_as_it_is() -> None:
    assert lease_owner_of(owned("ö" * 32), RNG) == "ö" * 32


@pytest.mark.parametrize("owner", ["x" * 65, "ö" * 33])
def test_an_owner_that_no_column_holds_is_refused(owner: str) -> None:
    with pytest.raises(BadTask):
        lease_owner_of(owned(owner), RNG)


@pytest.mark.parametrize("owner", ["(yield)", "(retry)", "(delay)"])
def test_an_owner_that_marks_waiting_tasks_is_refused(owner: str) -> None:
    with pytest.raises(Refused):
        lease_owner_of(owned(owner), RNG)


@pytest.mark.parametrize("remote", ["10.1.2.3", "fe80:1111:2222:3333:4444:5555:6666:7777%a-very-long-interface-name"])
def test_a_missing_owner_is_made_up_from_the_address_and_never_twice(remote: str) -> None:
    request = owned("").clone(remote=remote)
    assert isinstance(request, web.Request)
    one, other = lease_owner_of(request, RNG), lease_owner_of(request, RNG)
    assert one != other
    assert one.startswith(remote[:39])
    assert len(one.encode()) <= 64
