"""What an answer of Conduit says (contract: conduit.md, "Answer")."""

from __future__ import annotations

from typing import Any

import msgspec

from gorge_worker.backends.conduit.dialect import undeclared_parameters
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
_NO_METHOD = "does not exist"
_INSTALL = (
    "install it with `gorge-worker phorge install` on that Phorge's host (--root names its folder), and reload PHP-FPM "
    "or the web server there"
)


class UndeclaredParameters(Exception):
    """The method does not define parameters that it was called with: nothing was executed. `names` may be empty."""

    def __init__(self, reason: str, names: frozenset[str]) -> None:
        super().__init__(reason)
        self.names = names


class Answer(msgspec.Struct, frozen=True):
    """A `result`; or an `error`, code and words; or, where nobody knows what became of the call, why (`unknown`)."""

    result: Any = None
    error: str = ""
    unknown: str = ""

    def outcome(self, token: str) -> Outcome:
        """What an execution with this answer came to. `token` is kept out of its reason."""
        if self.unknown:
            return Outcome.temporary_failure(f"outcome unknown: {self.unknown}")
        if self.error:
            return Outcome.temporary_failure(self.error)
        return outcome_of_result(self.result, hide=token)


def read_answer(answer: HttpAnswer, *, token: str, wall: float) -> Answer:
    """Reads an answer. `wall` is now, in epoch seconds; `token` is kept out of every message.

    Raises BackendUnavailable when nothing was executed and any other task would fare the same, LeaseLost when PHP
    says that the task is not this worker's, UndeclaredParameters when it was called with more than it knows.
    """
    status = answer.status
    wait = retry_after(answer.headers, wall)
    if advice := _nothing_executed(status):
        raise BackendUnavailable(f"HTTP {status}, {advice}: {_quoted(answer.body, token)}", wait)
    envelope = None if status in _UNKNOWN else _envelope(answer.body)
    if envelope is not None and (code := envelope.get("error_code")):
        return _error(str(code), str(envelope.get("error_info") or ""), token, wait)
    if envelope is None or status not in _SUCCESS:
        return Answer(unknown=f"HTTP {status}, {_quoted(answer.body, token)}")
    return Answer(envelope.get("result"))


def _nothing_executed(status: int) -> str | None:
    return "a redirect, check CONDUIT_URL" if status in _REDIRECT else _ADVICE.get(status)


def _envelope(body: bytes) -> dict[str, Any] | None:
    try:
        value = decode_json(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) and ("result" in value or "error_code" in value) else None


def _error(full_code: str, full_info: str, token: str, wait: float | None) -> Answer:
    code, info = excerpt(full_code, 60, hide=token), excerpt(full_info, hide=token)
    reason = f"{code}: {info}" if info else code
    if code in _REFUSED:
        raise BackendUnavailable(f"{reason} (check CONDUIT_TOKEN and what its account may do)", wait)
    if code == _BAD_CALL and (names := undeclared_parameters(full_info)) is not None:
        raise UndeclaredParameters(reason, names)
    if code == _BAD_CALL and _NO_METHOD in info:
        raise BackendUnavailable(f"{reason} ({_INSTALL})", wait)
    if code in _LEASE_LOST:
        raise LeaseLost(reason)
    return Answer(error=reason)


def _quoted(body: bytes, token: str) -> str:
    return excerpt(body, hide=token) or "an empty answer"
