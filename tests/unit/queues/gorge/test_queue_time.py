from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gorge_worker.queues.gorge.queue_time import Moment, lease_end

ASKED = Moment(boottime=1000.0, wall=5000.0)
DATE = {"Date": "Thu, 01 Jan 1970 02:00:00 GMT"}  # 7200


def test_a_lease_is_counted_from_before_the_call_by_the_queues_clock() -> None:
    assert lease_end(7500, ASKED, DATE) == (7500, 1000 + 300 - 2)


@pytest.mark.parametrize(
    "headers", [{}, {"Date": ""}, {"Date": "yesterday"}, {"Date": "Thu, 99 Jan 1970 02:00:00 GMT"}]
)
def test_without_a_usable_date_it_is_the_workers_clock(headers: dict[str, str]) -> None:
    assert lease_end(5300, ASKED, headers) == (5300, 1000 + 300 - 2)


def test_a_date_without_a_zone_is_gmt() -> None:
    assert lease_end(7500, ASKED, {"Date": "Thu, 01 Jan 1970 02:00:00 -0000"}) == (7500, 1298)


def test_a_lease_without_an_end_lasts_two_hours() -> None:
    assert lease_end(None, ASKED, DATE) == (14400, 1000 + 7200 - 2)


@given(st.integers())
def test_any_end_can_be_calculated_with(expires: int) -> None:
    told, ends_at = lease_end(expires, ASKED, DATE)
    assert told == expires
    assert (ends_at > ASKED.boottime) == (expires - 7200 > 2)
