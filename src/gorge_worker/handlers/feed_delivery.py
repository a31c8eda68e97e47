"""What the data of a feed delivery asks for."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import msgspec

from gorge_worker.errors import PermanentFailure
from gorge_worker.foreign_json import decode_json

DELIVERY_VERSION = 1


class FeedDelivery(msgspec.Struct, frozen=True):
    """A body that is to be posted to a hook. `place` names the hook without what may be secret in its URI."""

    uri: str
    place: str
    body: bytes


def read_delivery(data: str) -> FeedDelivery | None:
    """The delivery that a task's data describes, None when only PHP can make it.

    Three forms are known: `{"uri", "storyID"}`, from the first Gorge; `{"deliveryVersion": 1, "uri", "body"}`, which
    PHP has rendered; and Phorge's own `{"key", "uri"}`, whose story must be loaded and rendered by PHP. A later
    delivery version belongs to a later Phorge, so it is PHP's too. Raises PermanentFailure for anything else.
    """
    try:
        fields = decode_json(data)
    except ValueError as error:
        raise PermanentFailure(f"the task's data is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise PermanentFailure("the task's data is not a JSON object")
    if "deliveryVersion" in fields:
        return _snapshot(fields)
    if "storyID" in fields:
        return _story(fields)
    if "key" in fields:
        return None
    raise PermanentFailure("the task's data names no story: it has neither storyID nor key nor deliveryVersion")


def _snapshot(fields: dict[str, Any]) -> FeedDelivery | None:
    version = fields["deliveryVersion"]
    if not _is_whole(version) or version < DELIVERY_VERSION:
        raise PermanentFailure(f"deliveryVersion must be a whole number from {DELIVERY_VERSION} on")
    if version > DELIVERY_VERSION:
        return None
    body = fields.get("body")
    if not isinstance(body, str):
        raise PermanentFailure("body must be a string")
    return _delivery(fields.get("uri"), body)


def _story(fields: dict[str, Any]) -> FeedDelivery:
    story = fields["storyID"]
    if not _is_whole(story):
        raise PermanentFailure("storyID must be a whole number")
    return _delivery(fields.get("uri"), f"storyID={story}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _delivery(uri: Any, body: str) -> FeedDelivery:
    if not isinstance(uri, str) or not uri:
        raise PermanentFailure("uri is missing or no string")
    try:
        return FeedDelivery(uri, _place(uri), body.encode())
    except UnicodeEncodeError as error:
        raise PermanentFailure("the body has a lone surrogate, which UTF-8 can't express") from error


def _place(uri: str) -> str:
    """Host and port. Raises PermanentFailure when the URI can't be posted to as it stands."""
    if any(char.isspace() or not char.isprintable() for char in uri):
        raise PermanentFailure("uri has white space or characters that can't be printed")
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
        _ = (host or "").encode("idna")
    except ValueError as error:
        raise PermanentFailure(f"uri can't be used: its host or port is wrong ({type(error).__name__})") from error
    if parts.scheme not in ("http", "https"):
        raise PermanentFailure("uri must begin with http:// or https://")
    if not host:
        raise PermanentFailure("uri names no host")
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
