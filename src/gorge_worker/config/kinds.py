"""What a variable may hold: how its text is read, how that is described to people, and how it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from gorge_worker.config.values import (
    ListenAddress,
    Refused,
    mask_url,
    parse_base_url,
    parse_http_url,
    parse_queue_url,
    parse_store_url,
    url_secrets,
)
from gorge_worker.masking import MASK
from gorge_worker.queues.store import MAX_CLASS_BYTES

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

_NUMBER = re.compile(r"[0-9]{1,18}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Kind(msgspec.Struct, Generic[T_co], frozen=True, kw_only=True):
    """A kind of value.

    `parse` raises ValueError for text that is not `expected`, a phrase for people; `show` is the text as it may be
    seen by others, `secrets` are the parts of it that may not.
    """

    expected: str
    parse: Callable[[str], T_co]
    show: Callable[[str], str] = str
    secrets: Callable[[str], list[str]] = lambda _: []

    def reason(self, error: ValueError) -> str:
        """Why `parse` has raised the error, for people."""
        return str(error) if isinstance(error, Refused) else f"it takes {self.expected}"


def optional(kind: Kind[T], unset: U) -> Kind[T | U]:
    """The kind, or `unset` for an empty text."""
    return Kind(
        expected=kind.expected,
        parse=lambda text: kind.parse(text) if text else unset,
        show=kind.show,
        secrets=kind.secrets,
    )


def whole_number(least: int, most: int) -> Kind[int]:
    def parse(text: str) -> int:
        if _NUMBER.fullmatch(text) is None or not least <= int(text) <= most:
            raise ValueError(text)
        return int(text)

    return Kind(expected=f"a whole number from {least} to {most}", parse=parse)


def choice(*options: T) -> Kind[T]:
    """One of the given words, in any case."""
    by_name = {str(option): option for option in options}

    def parse(text: str) -> T:
        try:
            return by_name[text.lower()]
        except KeyError:
            raise ValueError(text) from None

    return Kind(expected=" or ".join([", ".join([*by_name][:-1]), [*by_name][-1]]), parse=parse)


def comma_separated(expected: str, parse_item: Callable[[str], str]) -> Kind[tuple[str, ...]]:
    """Items without the spaces around them; empty ones and repetitions are left out."""

    def parse(text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(parse_item, comma_separated_items(text))))

    return Kind(expected=expected, parse=parse)


def comma_separated_items(text: str) -> list[str]:
    """The items without the spaces around them, without the empty ones."""
    return [item for part in text.split(",") if (item := part.strip())]


def _url(expected: str, parse: Callable[[str], str]) -> Kind[str]:
    return Kind(expected=expected, parse=parse, show=mask_url, secrets=url_secrets)


def _parse_class_name(text: str) -> str:
    if len(text.encode()) > MAX_CLASS_BYTES or not text.isprintable() or " " in text:
        raise ValueError(text)
    return text


def _parse_module_name(text: str) -> str:
    if not all(part.isidentifier() for part in text.split(".")):
        raise ValueError(text)
    return text


def _parse_folder(text: str) -> Path:
    if not text.isprintable() or not Path(text).is_absolute():
        raise ValueError(text)
    return Path(text)


def _parse_command(text: str) -> str:
    if not text.isprintable() or text.startswith("-") or ("/" in text and not Path(text).is_absolute()):
        raise ValueError(text)
    return text


def _parse_user(text: str) -> str:
    if _USER.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _parse_token(text: str) -> str:
    if any(character < " " or character == "\x7f" for character in text):
        raise ValueError(text)
    return text


LISTEN_ADDRESS: Kind[ListenAddress] = Kind(
    expected="host:port with a port from 1 to 65535, like :8170, 127.0.0.1:8170 or [::1]:8170",
    parse=ListenAddress.parse,
)
BASE_URL = _url("an http:// or https:// URL without a query, like https://phorge.example.com", parse_base_url)
HTTP_URL = _url("an http:// or https:// URL, like http://127.0.0.1:8170", parse_http_url)
STORE_URL = _url(
    "sqlite:/// and a file's path, like sqlite:///queue.db, or mysql://user:password@host:3306/database",
    parse_store_url,
)
QUEUE_URL = _url(
    "an http:// or https:// URL of a queue, like http://task-queue:8090, mysql://user:password@host:3306/database, or"
    " sqlite:/// and a file's path",
    parse_queue_url,
)
FOLDER: Kind[Path] = Kind(expected="an absolute path of a folder, like /srv/phorge", parse=_parse_folder)
COMMAND_NAME: Kind[str] = Kind(
    expected="a command in PATH or an absolute path, like php8.2 or /usr/bin/php", parse=_parse_command
)
USER_NAME: Kind[str] = Kind(expected="the name of a system user, like phorge or www-data", parse=_parse_user)
TOKEN: Kind[str] = Kind(
    expected="text without line breaks and other control characters",
    parse=_parse_token,
    show=lambda text: MASK if text else "",
    secrets=lambda text: [text, *comma_separated_items(text)] if text else [],
)
CLASS_NAMES = comma_separated(
    f"task classes separated by commas, each of at most {MAX_CLASS_BYTES} bytes and without spaces", _parse_class_name
)
MODULE_NAMES = comma_separated(
    "names of Python modules separated by commas, like our_handlers.mail", _parse_module_name
)
HTTP_URLS: Kind[tuple[str, ...]] = Kind(
    expected="http:// or https:// URLs separated by commas",
    parse=comma_separated("", parse_http_url).parse,
    show=lambda text: ",".join(map(mask_url, comma_separated_items(text))),
    secrets=lambda text: [secret for url in comma_separated_items(text) for secret in url_secrets(url)],
)
