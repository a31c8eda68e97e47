from __future__ import annotations

import pytest
from support.fenced import CUT, EXPIRES, GONE, fenced_lease, row
from support.scripted_http import PAGE, ScriptedHttp, data, error
from support.virtual_time import VirtualClock

from gorge_worker.http_client import HttpAnswer, NotSent
from gorge_worker.queues.gorge.standing import look_up, tell_fenced
from gorge_worker.queues.gorge.wire import Wire
from gorge_worker.queues.protocol import Receipt

pytestmark = pytest.mark.virtual_time

FENCE = fenced_lease().fence


@pytest.mark.parametrize(
    ("shown", "receipt", "reason"),
    [
        (row("me", EXPIRES), Receipt.ACCEPTED, ""),
        (row("me", EXPIRES + 300), Receipt.ACCEPTED, ""),
        (row("me", EXPIRES - 1), Receipt.LEASE_LOST, "the lease has been cut short"),
        (data({"id": 7, "leaseOwner": "me"}), Receipt.LEASE_LOST, "the lease has been cut short"),
        (row("you"), Receipt.LEASE_LOST, "the lease is now you's"),
        (row(None), Receipt.LEASE_LOST, "the lease is now nobody's"),
        (GONE, Receipt.LEASE_LOST, "404 ERR_NOT_FOUND: no"),
        (error(500), Receipt.TROUBLE, "500 ERR: no"),
        (error(400), Receipt.TROUBLE, "400 ERR: no"),
        (PAGE, Receipt.TROUBLE, "503, not in the queue's envelope: <html> <body>Sorry</body></html>"),
        (CUT, Receipt.TROUBLE, "the connection broke"),
        (NotSent("refused"), Receipt.TROUBLE, "refused"),
    ],
)
async def test_a_lease_stands_as_the_row_of_its_task_shows(
    shown: HttpAnswer | Exception, receipt: Receipt, reason: str
) -> None:
    http = ScriptedHttp()
    http.always["tasks/7"] = shown
    standing = await look_up(Wire(http), VirtualClock(), FENCE)
    assert (standing.receipt, standing.reason) == (receipt, reason)
    assert (standing.expires >= EXPIRES) == (receipt is Receipt.ACCEPTED)


async def test_a_row_that_can_not_be_read_shows_nothing() -> None:
    http = ScriptedHttp()
    http.always["tasks/7"] = data({"id": 7, "leaseOwner": 5})
    standing = await look_up(Wire(http), VirtualClock(), FENCE)
    assert standing.receipt is Receipt.TROUBLE
    assert standing.reason.startswith("the answer can't be read")


async def test_only_a_404_of_the_queue_s_own_is_followed_by_a_look() -> None:
    http = ScriptedHttp()
    http.script("resolve", error(409), error(500), PAGE, CUT)
    for _ in range(4):
        await tell_fenced(Wire(http), VirtualClock(), FENCE, "resolve", {})
    assert http.at("tasks/7") == []
    http.always["tasks/7"] = row()
    told = await tell_fenced(Wire(http), VirtualClock(), FENCE, "resolve", {})
    assert (told.result.receipt, told.status, told.in_doubt) == (Receipt.TROUBLE, 404, False)
    assert told.result.reason == "404 ERR_NOT_FOUND: no (of the call resolve: the task is not known to be lost)"
