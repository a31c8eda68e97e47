"""What an answer of Conduit says about the task (contract: conduit.md, "Answer")."""

from __future__ import annotations

from typing import Any

from gorge_worker.backends.execution_result import outcome_of_result
from gorge_worker.errors import BackendUnavailable, LeaseLost
from gorge_worker.excerpt import excerpt
from gorge_worker.foreign_json import decode_json
from gorge_worker.http_client import HttpAnswer
from gorge_worker.model import Outcome
from gorge_worker.retry_after import retry_after

_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)
_ADVICE = {
    401: "check CONDUIT_TOKEN",
    403: "check CONDUIT_TOKEN and what its account may do",
    404: "check CONDUIT_URL, and that worker.execute is installed there",
    405: "check CONDUIT_URL",
    429: "too many calls",
    503: "it is down or overloaded",
}
"""The statuses with which nothing was executed, and what an operator may want to look at."""
_UNKNOWN = frozenset({502, 504})
"""A proxy's words about a PHP that may still be executing."""
_REFUSED = frozenset({"ERR-INVALID-AUTH", "ERR-INVALID-SESSION", "ERR-WORKER-AUTH"})
_LEASE_LOST = frozenset({"ERR-WORKER-CONTEXT", "ERR-WORKER-LEASE"})
_BAD_CALL = "ERR-CONDUIT-CALL"
_NOT_CALLED = ("does not exist", "does not define")
"""Phorge's words for a method, or for parameters, that it does not have: it says both under one code."""


def read_answer(answer: HttpAnswer, *, token: str, wall: float) -> Outcome:
    """The outcome that an answer stands for. `wall` is now, in epoch seconds; `token` is kept out of every message.

    Raises BackendUnavailable when nothing was executed and any other task would fare the same, LeaseLost when PHP
    says that the task is not this worker's.
    """
    status = answer.status
    wait = retry_after(answer.headers, wall)
    if advice := _nothing_executed(status):
        raise BackendUnavailable(f"HTTP {status}, {advice}: {_quoted(answer.body, token)}", wait)
    envelope = None if status in _UNKNOWN else _envelope(answer.body)
    if envelope is not None and (code := envelope.get("error_code")):
        return _error(
            excerpt(str(code), 60, hide=token), excerpt(str(envelope.get("error_info") or ""), hide=token), wait
        )
    if envelope is None or status not in _SUCCESS:
        return Outcome.temporary_failure(f"outcome unknown: HTTP {status}, {_quoted(answer.body, token)}")
    return outcome_of_result(envelope.get("result"), hide=token)


def _nothing_executed(status: int) -> str | None:
    return "a redirect, check CONDUIT_URL" if status in _REDIRECT else _ADVICE.get(status)


def _envelope(body: bytes) -> dict[str, Any] | None:
    try:
        value = decode_json(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) and ("result" in value or "error_code" in value) else None


def _error(code: str, info: str, wait: float | None) -> Outcome:
    reason = f"{code}: {info}" if info else code
    if code in _REFUSED:
        raise BackendUnavailable(f"{reason} (check CONDUIT_TOKEN and what its account may do)", wait)
    if code == _BAD_CALL and any(words in info for words in _NOT_CALLED):
        raise BackendUnavailable(f"{reason} (check that worker.execute is installed at CONDUIT_URL)", wait)
    if code in _LEASE_LOST:
        raise LeaseLost(reason)
    return Outcome.temporary_failure(reason)


def _quoted(body: bytes, token: str) -> str:
    return excerpt(body, hide=token) or "an empty answer"
