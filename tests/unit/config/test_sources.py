from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gorge_worker.config.sources import read_env_file
from gorge_worker.errors import ConfigurationError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "worker.env"


def test_lines_comments_quotes_and_exports_are_read(file: Path) -> None:
    file.write_text(
        "# a comment\n\nPLAIN=one two # said so\nexport EXPORTED=yes\nSINGLE='a # b'\nDOUBLE=\"a\\nb\"\nEMPTY=\n"
    )
    source = read_env_file(file)
    assert source.name == str(file)
    assert source.values == {
        "PLAIN": "one two",
        "EXPORTED": "yes",
        "SINGLE": "a # b",
        "DOUBLE": "a\nb",
        "EMPTY": "",
    }


def test_a_dollar_sign_stays_as_it_is(file: Path) -> None:
    file.write_text("TOKEN=a$HOME${HOME}\n")
    assert read_env_file(file).values == {"TOKEN": "a$HOME${HOME}"}


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfA=1\r\nB=2\r\n")
    assert read_env_file(file).values == {"A": "1", "B": "2"}


def test_a_value_need_not_be_utf8(file: Path) -> None:
    file.write_bytes(b"TOKEN=\xff\xfe\n")
    assert os.fsencode(read_env_file(file).values["TOKEN"]) == b"\xff\xfe"


@pytest.mark.parametrize("line", ["hunter2", "TOKEN", "TOKEN hunter2", "TOKEN='hunter2", "=hunter2"])
def test_a_line_of_another_form_is_named_but_not_shown(file: Path, line: str) -> None:
    file.write_text(f"A=1\n{line}\n")
    with pytest.raises(ConfigurationError, match=f"line 2 of the environment file {file} is not NAME=value") as raised:
        read_env_file(file)
    assert "hunter2" not in str(raised.value)


def test_every_bad_line_is_named(file: Path) -> None:
    file.write_text("one\nA=1\ntwo\n")
    with pytest.raises(ConfigurationError) as raised:
        read_env_file(file)
    assert [problem.split(" of ")[0] for problem in raised.value.problems] == ["line 1", "line 3"]


def test_a_missing_file_is_said_to_be_missing(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"the environment file {file} can't be read: No such file"):
        read_env_file(file)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read: Is a directory"):
        read_env_file(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(), st.text().map(str.encode)))
def test_no_content_breaks_the_reader(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    try:
        values = read_env_file(file).values
    except ConfigurationError:
        return
    assert all(isinstance(value, str) for value in values.values())
