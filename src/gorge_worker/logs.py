"""How the process logs: one line an event on standard error, as key=value text or JSON, and never a secret.

A line that can't be rendered or written must not stop the work that it tells about, so nothing in here raises.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from gorge_worker.masking import Masking

if TYPE_CHECKING:
    from gorge_worker.config.settings import LogFormat, LogLevel

LONGEST_VALUE = 16_384
"""Characters of one value that are logged: an exception's text can hold a whole task."""

_LARGEST_NUMBER = 2**63
_PLAIN_WORD = re.compile(r"[^\s\"'=]+")

Fields = structlog.typing.EventDict


def configure(
    level: LogLevel, log_format: LogFormat | None, secrets: Iterable[str], descriptor: int | None = None
) -> None:
    """Sets up structlog, and the standard library's logging behind it, for the whole process.

    Without a format, a terminal gets text and anything else JSON. `secrets` are masked wherever they occur;
    `descriptor` is where the lines go, standard error unless given.
    """
    if descriptor is None:
        descriptor = _standard_error()
    if log_format is None:
        log_format = "text" if descriptor is not None and os.isatty(descriptor) else "json"
    lines = _Lines(descriptor)
    lowest = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _Cleaner(secrets),
            _render_json if log_format == "json" else _render_text,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    # On the handler: the root logger's own level does not hold for libraries that set one for themselves.
    logging.basicConfig(handlers=[_StandardLibrary(max(lowest, logging.WARNING))], force=True)
    logging.captureWarnings(True)


def _standard_error() -> int | None:
    """None when the process was started without one: its number may belong to a socket by now."""
    return None if sys.stderr is None else sys.stderr.fileno()


class _Lines:
    """Writes whole lines, past Python's buffers: they would keep, and fail again over, what could not be written."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def msg(self, line: bytes) -> None:
        if self._descriptor is None:
            return
        rest = memoryview(line + b"\n")
        # Closed or full: there is nobody left to tell.
        with self._lock, contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    debug = info = warning = error = critical = msg


class _Cleaner:
    """Makes every value a number, a bounded text without secrets, or a list of these."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._hide = Masking(secrets).hide

    def __call__(self, _logger: object, _method: str, fields: Fields) -> Fields:
        return {key: self._value(value) for key, value in fields.items()}

    def _value(self, value: object) -> object:
        if isinstance(value, list | tuple | set | frozenset):
            return [self._scalar(item) for item in value]
        return self._scalar(value)

    def _scalar(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        if value is None or (isinstance(value, int | float) and abs(value) < _LARGEST_NUMBER):
            return value
        return self._text(_in_words(value))

    def _text(self, text: str) -> str:
        text = self._hide(text)
        if not text.isascii():
            text = text.encode(errors="backslashreplace").decode()
        if len(text) > LONGEST_VALUE:
            text = f"{text[:LONGEST_VALUE]}... ({len(text) - LONGEST_VALUE} more characters)"
        return text


def _in_words(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - a value of a handler's own type may raise anything
        return f"<{type(value).__name__}, whose text can't be had: {type(error).__name__}>"


def _render_json(_logger: object, _method: str, fields: Fields) -> bytes:
    first = {key: fields.pop(key) for key in ("timestamp", "level", "event")}
    return msgspec.json.encode({**first, **fields})


def _render_text(_logger: object, _method: str, fields: Fields) -> bytes:
    timestamp, level, event = (fields.pop(key) for key in ("timestamp", "level", "event"))
    words = [str(timestamp), f"{level:<7}", _on_one_line(str(event))]
    words += [f"{key}={_as_word(value)}" for key, value in fields.items()]
    return " ".join(words).encode()


def _as_word(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    if _PLAIN_WORD.fullmatch(text) is None or not text.isprintable():
        return _on_one_line(json.dumps(text, ensure_ascii=False))
    return text


def _on_one_line(text: str) -> str:
    """The text with everything escaped that would end the line or drive the terminal."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class _StandardLibrary(logging.Handler):
    """Passes on what aiohttp, asyncio and other libraries log through the standard library."""

    def emit(self, record: logging.LogRecord) -> None:
        log: structlog.typing.FilteringBoundLogger = structlog.get_logger()
        method = log.error if record.levelno >= logging.ERROR else log.warning
        method(_message(record), logger=record.name, exc_info=record.exc_info)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that do not fit a library's format, or whose text can't be had
        return _in_words(record.msg)
