"""The queue's envelope: `{"data": ...}` or `{"error": {"code", "message"}}`."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec

from gorge_worker.errors import QueueTrouble
from gorge_worker.excerpt import excerpt
from gorge_worker.http_client import HttpAnswer
from gorge_worker.retry_after import retry_after

Content = TypeVar("Content")

UNREADABLE = (msgspec.MsgspecError, RecursionError)
"""What the typed decoder raises; nesting without end is not an error of its own there."""
UNCONVERTIBLE = (msgspec.ValidationError, UnicodeEncodeError)
"""What msgspec.convert raises; a lone surrogate in the place of a number is not an error of its own there."""
MAX_DIGITS = 4000
"""Python refuses to read integers of more than 4300 digits, and one such must not spoil a whole answer."""
EXCERPT = 160


class Data(msgspec.Struct, Generic[Content]):
    """The envelope of a success."""

    data: Content


class QueueError(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Failed(msgspec.Struct):
    error: QueueError


_opened = msgspec.json.Decoder(Data[msgspec.Raw])
_failed = msgspec.json.Decoder(_Failed)


def read_loosely(body: bytes) -> Any:
    """Any JSON, with the standard library, which also takes what the typed decoder refuses as a whole.

    Stray bytes and escaped lone surrogates become lone surrogates in a string, integers beyond reading become
    strings: the caller finds them by that. Raises ValueError when it is no JSON.
    """
    try:
        return json.loads(body.decode("utf-8", "surrogateescape"), parse_int=_integer)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MAX_DIGITS else digits


def read_data_loosely(body: bytes) -> Any:
    """The content of the envelope of a success. Raises ValueError when the body is none."""
    envelope = read_loosely(body)
    if not isinstance(envelope, dict) or "data" not in envelope:
        raise ValueError("not the queue's envelope")
    return envelope["data"]


def is_success(answer: HttpAnswer) -> bool:
    """Whether the queue itself says that the call has succeeded."""
    if answer.status != HTTPStatus.OK:
        return False
    try:
        _opened.decode(answer.body)
    except UNREADABLE:
        try:
            read_data_loosely(answer.body)
        except ValueError:
            return False
    return True


def error_of(answer: HttpAnswer) -> QueueError | None:
    """What the queue itself says against the call; None when the answer is a success or somebody else's."""
    if answer.status == HTTPStatus.OK:
        return None
    try:
        return _failed.decode(answer.body).error
    except UNREADABLE:
        return None


def describe(answer: HttpAnswer) -> str:
    """An answer that is not a success, for a log: status and an excerpt."""
    if error := error_of(answer):
        return excerpt(f"{answer.status} {error.code}: {error.message}", EXCERPT)
    text = excerpt(answer.body, EXCERPT)
    return f"{answer.status}, not in the queue's envelope: {text}" if text else f"{answer.status} and an empty body"


def trouble(answer: HttpAnswer, wall: float) -> QueueTrouble:
    """The exception for an answer that can't be used. `wall` is now, in epoch seconds."""
    return QueueTrouble(f"the queue answered {describe(answer)}", retry_after(answer.headers, wall))
