from __future__ import annotations

import pytest
from support.scripted_http import PAGE, answer, data, error

from gorge_worker.http_client import HttpAnswer
from gorge_worker.queues.gorge.envelope import describe, error_of, is_success, trouble


@pytest.mark.parametrize("body", ['{"data":null}', '{"data":{"data":"\\ud800"}}', '{"data":1,"error":null}'])
def test_data_with_200_is_a_success(body: str) -> None:
    assert is_success(answer(200, body))


@pytest.mark.parametrize(
    "bad", [answer(200, "{}"), answer(200, ""), answer(200, "[]"), answer(200, "<p>"), answer(201, '{"data":1}'), PAGE]
)
def test_nothing_else_is(bad: HttpAnswer) -> None:
    assert not is_success(bad)


@pytest.mark.parametrize("body", ["", "{}", '{"error":"no"}', '{"error":null}', "<html>", '{"error":{"code":1}}'])
def test_only_the_error_envelope_is_the_queues_own_refusal(body: str) -> None:
    assert error_of(answer(404, body)) is None
    assert error_of(error(404, "ERR_NOT_FOUND"))


def test_a_description_is_one_short_printable_line() -> None:
    text = describe(answer(502, "<html>\r\n\x1b[31m\u202e" + "x" * 1000))
    assert text.startswith("502, not in the queue's envelope: <html> [31m x")
    assert len(text) < 250
    assert text.isprintable()
    assert describe(error(500, "ERR_INTERNAL", "a\nb")) == "500 ERR_INTERNAL: a b"
    assert describe(answer(401, "")) == "401 and an empty body"


def test_trouble_says_when_to_come_back() -> None:
    assert trouble(error(503, Retry_After="7"), 0.0).retry_after == 7
    assert trouble(data([]), 0.0).retry_after is None
