from __future__ import annotations

import json
import logging
import os
import pty
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from gorge_worker import logs
from gorge_worker.config.settings import LogFormat, LogLevel
from gorge_worker.masking import SHORTEST_SECRET

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
MARKED = st.text(st.characters(exclude_categories=(), exclude_characters="\N{SNOWMAN}"), min_size=SHORTEST_SECRET)


class Log:
    """What was logged, by way of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    def to(self, level: LogLevel = "info", log_format: LogFormat | None = "json", secrets: tuple[str, ...] = ()) -> Any:
        """A logger of its own, after a configuration of its own."""
        logs.configure(level, log_format, secrets, self._descriptor)
        return structlog.get_logger()

    def lines(self) -> list[str]:
        return self._path.read_bytes().decode().split("\n")[:-1]

    def line(self) -> str:
        (line,) = self.lines()
        return line

    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.line())
        return fields

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    one = Log(tmp_path / "log")
    yield one
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    one.close()


class Untellable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def fail(reason: str) -> NoReturn:
    raise RuntimeError(reason)


def test_json_has_one_object_a_line_with_the_essentials_first(log: Log) -> None:
    log.to().info("task done", task=41, task_class="SearchWorker", seconds=0.5, again=False, wait=None)
    assert list(log.fields().items())[1:] == [
        ("level", "info"),
        ("event", "task done"),
        ("task", 41),
        ("task_class", "SearchWorker"),
        ("seconds", 0.5),
        ("again", False),
        ("wait", None),
    ]


def test_times_are_utc_in_iso_form(log: Log) -> None:
    log.to().info("hello")
    assert log.fields()["timestamp"].endswith("Z")
    assert "T" in log.fields()["timestamp"]


def test_text_is_key_value(log: Log) -> None:
    log.to(log_format="text").warning("task failed", task=41, reason="it said no", classes=["A", "B"], left="")
    assert log.line().split(" ", 1)[1] == 'warning task failed task=41 reason="it said no" classes=A,B left=""'


@pytest.mark.parametrize(
    "value", ["a b", "a=b", 'say "x"', "it's", "", "a\nb", "tab\t", "\x1b[31m", "\x9b31m", "\u2028"]
)
def test_a_text_value_that_could_be_misread_is_quoted_and_escaped(log: Log, value: str) -> None:
    log.to(log_format="text").info("hello", value=value)
    shown = log.line().split("value=")[1]
    assert shown.startswith('"')
    assert shown.endswith('"')
    assert shown.isprintable()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_line_breaks_stay_within_the_line(log: Log, log_format: LogFormat) -> None:
    log.to(log_format=log_format).info("one\ntwo", value="three\nfour")
    assert "\\n" in log.line()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_an_exception_is_one_field_with_its_traceback(log: Log, log_format: LogFormat) -> None:
    logger = log.to(log_format=log_format)
    try:
        fail("it broke")
    except RuntimeError as error:
        logger.warning("handler raised", exc_info=error)
    assert "Traceback" in log.line()
    assert "it broke" in log.line()


def test_lines_below_the_level_are_left_out(log: Log) -> None:
    logger = log.to("warning")
    logger.info("not this")
    logger.warning("but this")
    assert log.fields()["event"] == "but this"


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize(
    "value",
    [
        "before tok-secret after",
        ["a", "tok-secret"],
        {"token": "tok-secret"},
        ValueError("tok-secret"),
        "http://host/?token=tok-secret",
    ],
)
def test_a_secret_is_masked_in_every_value(log: Log, log_format: LogFormat, value: object) -> None:
    log.to(log_format=log_format, secrets=("tok-secret",)).info("hello", value=value)
    assert "tok-secret" not in log.line()
    assert "***" in log.line()


def test_a_secret_is_masked_in_the_event_and_in_a_traceback(log: Log) -> None:
    logger = log.to(secrets=("tok-secret",))
    try:
        fail("tok-secret")
    except RuntimeError:
        logger.exception("got tok-secret")
    assert "tok-secret" not in log.line()


def test_a_secret_is_masked_in_its_other_spellings(log: Log) -> None:
    secret = 'p@ss "w\N{SNOWMAN}rd\\'
    logger = log.to(secrets=(secret,))
    logger.info("hello", quoted="p%40ss%20%22w%E2%98%83rd%5C", shown=repr(secret), encoded=json.dumps(secret))
    fields = log.fields()
    assert [fields["quoted"], fields["shown"][1:-1], fields["encoded"][1:-1]] == ["***", "***", "***"]


def test_the_longer_of_two_secrets_is_masked_whole(log: Log) -> None:
    log.to(secrets=("token", "token-two")).info("hello", value="token-two")
    assert log.fields()["value"] == "***"


def test_a_word_too_short_for_a_secret_does_not_garble_the_log(log: Log) -> None:
    log.to(secrets=("a", "")).info("a task", value="banana")
    assert log.fields()["value"] == "banana"


@given(MARKED.map(lambda text: f"\N{SNOWMAN}{text}"), MARKED, MARKED)
def test_no_secret_survives_cleaning(secret: str, before: str, after: str) -> None:
    cleaned = logs._Cleaner([secret])(None, "info", {"value": f"{before}{secret}{after}", "list": [secret]})
    assert "\N{SNOWMAN}" not in f"{cleaned['value']}{cleaned['list']}"


@given(st.recursive(st.one_of(st.none(), st.integers(), st.floats(), ANY_TEXT, st.binary()), st.lists))
def test_any_value_makes_a_line(value: object) -> None:
    cleaner = logs._Cleaner([])
    for render in (logs._render_json, logs._render_text):
        fields = cleaner(None, "info", {"timestamp": "now", "level": "info", "event": "hello", "value": value})
        line = render(None, "info", fields)
        assert b"\n" not in line
        assert line.decode()


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize(
    "value", [Untellable(), [Untellable()], [10**5000], float("nan"), float("inf"), "\ud800", b"\xff", {1: {2: 3}}]
)
def test_logging_never_raises(log: Log, log_format: LogFormat, value: object) -> None:
    log.to(log_format=log_format).info("hello", value=value)
    assert "hello" in log.line()


def test_a_huge_value_is_cut(log: Log) -> None:
    log.to().info("hello", value="x" * 1_000_000)
    assert log.fields()["value"].endswith("xxx... (983616 more characters)")


def test_a_closed_descriptor_is_no_reason_to_fail(log: Log) -> None:
    reader, writer = os.pipe()
    logs.configure("info", "json", (), writer)
    logger = structlog.get_logger()
    os.close(reader)
    logger.info("into a broken pipe")
    os.close(writer)
    logger.info("into a closed descriptor")
    assert log.lines() == []


def test_a_process_without_standard_error_logs_nothing(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    logs.configure("info", None, ())
    structlog.get_logger().info("to nobody")
    assert log.lines() == []


def test_a_terminal_gets_text_and_anything_else_json(log: Log) -> None:
    log.to(log_format=None).info("to a file")
    assert log.fields()["event"] == "to a file"
    ours, terminal = pty.openpty()
    logs.configure("info", None, (), terminal)
    structlog.get_logger().info("to a terminal")
    assert b" info    to a terminal" in os.read(ours, 1000)
    os.close(ours)
    os.close(terminal)


def test_the_standard_librarys_logging_goes_the_same_way(log: Log) -> None:
    log.to(secrets=("tok-secret",))
    logging.getLogger("aiohttp.server").error("failed with %s", "tok-secret")
    fields = log.fields()
    assert (fields["event"], fields["level"], fields["logger"]) == ("failed with ***", "error", "aiohttp.server")


def test_other_libraries_are_heard_from_warnings_on(log: Log) -> None:
    log.to("debug")
    chatty = logging.getLogger("chatty")
    chatty.info("not this")
    chatty.log(35, "but this")
    assert log.fields()["event"] == "but this"
    assert log.fields()["level"] == "warning"


def test_a_library_that_lowers_its_own_level_is_not_heard_either(log: Log) -> None:
    log.to()
    chatty = logging.getLogger("chatty.by.itself")
    chatty.setLevel(logging.DEBUG)
    chatty.info("not this")
    assert log.lines() == []


@pytest.mark.parametrize("record", [("%d", "no number"), ("%s", Untellable()), (Untellable(),)])
def test_a_librarys_broken_record_is_logged_as_far_as_possible(log: Log, record: tuple[Any, ...]) -> None:
    log.to()
    logging.getLogger("broken").error(*record)
    assert log.fields()["logger"] == "broken"


def test_a_librarys_exception_keeps_its_traceback(log: Log) -> None:
    log.to()
    try:
        fail("it broke")
    except RuntimeError:
        logging.getLogger("asyncio").exception("task exception was never retrieved")
    assert "it broke" in log.fields()["exception"]


def test_warnings_are_logged(log: Log) -> None:
    log.to()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old habit", DeprecationWarning, stacklevel=1)
    assert "DeprecationWarning: old habit" in log.fields()["event"]


def test_lines_of_several_threads_stay_whole(log: Log) -> None:
    logger = log.to()
    threads = [threading.Thread(target=logger.info, args=["hello"], kwargs={"value": "x" * 10_000}) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [json.loads(line)["event"] for line in log.lines()] == ["hello"] * 8
