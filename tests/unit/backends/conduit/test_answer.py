from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from gorge_worker.backends.conduit.answer import UndeclaredParameters, read_answer
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.http_client import HttpAnswer
from gorge_worker.model import Outcome, Verdict

TOKEN = "api-0123456789"
WALL = 1_785_585_600.0


def read(body: bytes | str, status: int = 200, **headers: str) -> Outcome:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body.encode() if isinstance(body, str) else body
    answer = HttpAnswer(status, CIMultiDictProxy(CIMultiDict(named)), raw)
    return read_answer(answer, token=TOKEN, wall=WALL).outcome(TOKEN)


def envelope(result: Any = None, code: Any = None, info: Any = None) -> str:
    return json.dumps({"result": result, "error_code": code, "error_info": info})


@pytest.mark.parametrize(
    "body", [envelope(), '{"result":null}', '{"error_code":null}', '{"result":5,"more":[]}', '\ufeff{"result":1}']
)
def test_an_envelope_without_an_error_is_a_success(body: str) -> None:
    assert read(body) == Outcome.success()


def test_the_result_is_classified() -> None:
    assert read(envelope({"result": "yield", "retry": 30})) == Outcome.yielded(30)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'"ok"',
        b'{"status":"ok"}',
        b'{"result":nu',
        b"\xff\xfe",
        b"<html>Sign\n in</html>",
        b"[" * 99_999,
    ],
)
def test_what_is_no_envelope_leaves_the_outcome_unknown(body: bytes) -> None:
    outcome = read(body)
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert outcome.reason.startswith("outcome unknown: HTTP 200, ")
    assert outcome.reason.isprintable()


@pytest.mark.parametrize("status", [400, 413, 500, 502, 504, 520, 599])
def test_a_success_is_believed_only_with_a_status_of_success(status: int) -> None:
    outcome = read(envelope(), status)
    assert outcome.verdict is Verdict.TEMPORARY_FAILURE
    assert str(status) in outcome.reason


def test_an_error_code_counts_with_any_other_status_too() -> None:
    with pytest.raises(BackendUnavailable):
        read(envelope(code="ERR-INVALID-AUTH"), 400)


@pytest.mark.parametrize("status", [502, 504])
def test_a_proxy_that_lost_php_says_nothing_about_the_token(status: int) -> None:
    assert read(envelope(code="ERR-INVALID-AUTH"), status).verdict is Verdict.TEMPORARY_FAILURE


@pytest.mark.parametrize("code", ["ERR-CONDUIT-CORE", "ERR-NO-TASK-CLASS", 5, True, ["x"]])
def test_an_error_code_is_a_temporary_failure(code: object) -> None:
    outcome = read(envelope(code=code, info="the task\nthrew"))
    assert outcome == Outcome.temporary_failure(f"{code}: the task threw")


def test_an_empty_error_code_is_none() -> None:
    assert read(envelope(code="")).verdict is Verdict.SUCCESS


@pytest.mark.parametrize(
    ("code", "info"),
    [
        ("ERR-INVALID-AUTH", "no"),
        ("ERR-INVALID-SESSION", None),
        ("ERR-WORKER-AUTH", "not an allowed caller"),
        ("ERR-CONDUIT-CALL", 'Conduit API method "worker.execute" does not exist.'),
    ],
)
def test_a_call_that_every_task_would_see_refused_is_the_backends_fault(code: str, info: str | None) -> None:
    with pytest.raises(BackendUnavailable, match=code):
        read(envelope(code=code, info=info))


def test_parameters_that_are_not_defined_are_named() -> None:
    info = f"API Method \"worker.execute\" does not define these parameters: '{'x' * 200}', 'phase'."
    with pytest.raises(UndeclaredParameters) as caught:
        read(envelope(code="ERR-CONDUIT-CALL", info=info))
    assert caught.value.names == {"x" * 200, "phase"}


def test_another_error_of_the_call_is_the_tasks_own() -> None:
    assert read(envelope(code="ERR-CONDUIT-CALL", info="no such object")).verdict is Verdict.TEMPORARY_FAILURE


@pytest.mark.parametrize("code", ["ERR-WORKER-CONTEXT", "ERR-WORKER-LEASE"])
def test_a_task_that_php_sees_leased_by_another_is_lost(code: str) -> None:
    with pytest.raises(LeaseLost, match=code):
        read(envelope(code=code, info="not leased"))


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308, 401, 403, 404, 405, 429, 503])
@pytest.mark.parametrize("body", ["<html>", envelope(), envelope({"result": "success"})])
def test_a_status_with_which_nothing_was_executed_counts_whatever_the_body(status: int, body: str) -> None:
    with pytest.raises(BackendUnavailable, match=f"HTTP {status}") as raised:
        read(body, status)
    assert raised.value.retry_after is None


@pytest.mark.parametrize(("value", "seconds"), [("7", 7), ("600", 60), ("Sat, 01 Aug 2026 12:00:30 GMT", 30)])
def test_retry_after_is_honoured_for_at_most_a_minute(value: str, seconds: float) -> None:
    with pytest.raises(BackendUnavailable) as raised:
        read("", 503, Retry_After=value)
    assert raised.value.retry_after == seconds


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, envelope(code="ERR-INVALID-AUTH", info=f'API token "{TOKEN}" has the wrong length.')),
        (200, envelope(code=TOKEN, info="?")),
        (200, envelope({"result": "failure", "failureReason": f"token {TOKEN}"})),
        (200, envelope({"result": TOKEN})),
        (200, f"<html>{TOKEN}</html>"),
        (500, f"{'x' * 190}{TOKEN}"),
        (403, f"token {TOKEN} refused"),
    ],
)
def test_a_token_that_is_repeated_to_us_is_not_repeated_by_us(status: int, body: str) -> None:
    try:
        told = read(body, status).reason
    except BackendUnavailable as error:
        told = str(error)
    assert told
    assert TOKEN[:8] not in told


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["success", "yield", "failure"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["result", "error_code", "error_info", "retry", "followups", "duration"]), inner
        )
    ),
    max_leaves=8,
)


@given(JSON.map(json.dumps).map(str.encode) | st.binary(), st.sampled_from([200, 204, 302, 400, 404, 500, 502, 999]))
def test_no_answer_can_break_it(body: bytes, status: int) -> None:
    told = ""
    try:
        told = read(body, status).reason
    except (BackendUnavailable, UndeclaredParameters) as error:
        told = str(error)
    assert told.isprintable()
    assert len(told) < 700
