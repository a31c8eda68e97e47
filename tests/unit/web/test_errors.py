from __future__ import annotations

import json

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from structlog.testing import capture_logs

from gorge_worker.web.errors import Refused, enveloped

REQUEST = make_mocked_request("GET", "/some/path?token=s3cret")


async def answer_to(error: Exception) -> web.Response:
    async def failing(_: web.BaseRequest) -> web.StreamResponse:
        raise error

    answer = await enveloped(failing)(REQUEST)
    assert isinstance(answer, web.Response)
    return answer


async def test_an_answer_goes_through_untouched() -> None:
    made = web.Response()

    async def working(_: web.BaseRequest) -> web.StreamResponse:
        return made

    assert await enveloped(working)(REQUEST) is made


@pytest.mark.parametrize("error", [ValueError("s3cret"), TimeoutError("s3cret"), KeyError("s3cret")])
async def test_a_crash_tells_its_caller_nothing_and_the_log_everything_but_the_query(error: Exception) -> None:
    with capture_logs() as logs:
        answer = await answer_to(error)
    assert answer.status == 500
    assert isinstance(answer.body, bytes)
    assert json.loads(answer.body)["error"]["code"] == "ERR_INTERNAL"
    assert b"s3cret" not in answer.body
    assert [(one["log_level"], one["path"]) for one in logs] == [("error", "/some/path")]


async def test_a_refusal_is_answered_and_not_logged() -> None:
    with capture_logs() as logs:
        answer = await answer_to(Refused(415, "no"))
    assert isinstance(answer.body, bytes)
    assert (answer.status, json.loads(answer.body)) == (
        415,
        {"error": {"code": "ERR_UNSUPPORTED_MEDIA_TYPE", "message": "no"}},
    )
    assert logs == []


async def test_a_broken_connection_is_no_crash() -> None:
    with capture_logs() as logs:
        await answer_to(ConnectionResetError())
    assert logs == []


async def test_a_wrong_method_keeps_its_allow_header() -> None:
    answer = await answer_to(web.HTTPMethodNotAllowed("PUT", ["POST", "GET"]))
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, POST")


async def test_a_redirect_stays_one() -> None:
    with pytest.raises(web.HTTPFound):
        await answer_to(web.HTTPFound("/elsewhere"))
