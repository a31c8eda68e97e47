from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gorge_worker.errors import ConfigurationError
from gorge_worker.handlers.discovery import discover

HANDLER = "from gorge_worker import task_handler\n@task_handler({name!r})\ndef {function}(context): ...\n"
Writing = Callable[[str, str], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.fixture
def write(folder: Path) -> Writing:
    def writing(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return writing


def handler(name: str = "A", function: str = "handle") -> str:
    return HANDLER.format(name=name, function=function)


def names(*modules: str) -> list[str]:
    return [one.name for one in discover(modules)]


def problem(*modules: str) -> str:
    with pytest.raises(ConfigurationError) as raised:
        discover(modules)
    [only] = raised.value.problems
    return only


def install_entry_point(folder: Path, value: str, name: str = "mine") -> None:
    info = folder / "site" / "their_package-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[gorge_worker.handlers]\n{name} = {value}\n")
    sys.path.append(str(folder / "site"))


def test_marked_functions_are_found_in_the_order_of_their_definition(write: Writing) -> None:
    write("mine_one.py", handler("B", "second") + handler("A", "first") + "def other(context): ...\n")
    write("mine_two.py", handler("C", "third"))
    assert names("mine_one", "mine_two") == ["mine_one.second", "mine_one.first", "mine_two.third"]


def test_the_working_directory_comes_after_what_is_installed(write: Writing, folder: Path) -> None:
    write("mine.py", handler())
    write("json.py", "raise AssertionError")
    assert names("mine") == ["mine.handle"]
    assert sys.path.index(str(folder)) == len(sys.path) - 1


def test_without_named_modules_the_working_directory_is_left_alone(folder: Path) -> None:
    assert discover([]) == []
    assert str(folder) not in sys.path


def test_a_handler_that_a_package_passes_on_is_found_once(write: Writing) -> None:
    write("mine/__init__.py", "from mine.inner import handle\n")
    write("mine/inner.py", handler())
    assert names("mine", "mine.inner", "mine") == ["mine.inner.handle"]


def test_objects_that_answer_to_any_name_are_not_taken_for_handlers(write: Writing) -> None:
    write("mine.py", "from unittest.mock import call, Mock\nmock = Mock()\n" + handler())
    assert names("mine") == ["mine.handle"]


@pytest.mark.parametrize("value", ["theirs", "theirs:handle", "theirs:Group.handle"])
def test_entry_points_are_found_without_being_named(write: Writing, folder: Path, value: str) -> None:
    write("site/theirs.py", handler() + "class Group:\n    handle = handle\n")
    install_entry_point(folder, value)
    assert names() == ["theirs.handle"]
    assert names("theirs") == ["theirs.handle"], "naming its module as well changes nothing"


def test_a_module_that_does_not_exist_is_named_with_where_it_was_looked_for(folder: Path) -> None:
    told = problem("no_such_module.inner")
    assert told.startswith("HANDLERS: ")
    assert "'no_such_module'" in told
    assert str(folder) in told


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("\n\nraise ValueError('boom\\nbang')", "ValueError: boom bang"),
        ("\n\nimport missing_dependency", "ModuleNotFoundError: No module named 'missing_dependency'"),
        ("\n\nraise SystemExit(3)", "SystemExit: 3"),
        ("\n\ndef (", "SyntaxError"),
        ("\n\nfrom gorge_worker import task_handler; task_handler()", "TypeError: a task handler names"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_with_cause_and_place(
    write: Writing, folder: Path, text: str, cause: str
) -> None:
    write("mine.py", text)
    told = problem("mine")
    assert "HANDLERS: the module 'mine' can't be imported" in told
    assert cause in told
    assert "line 3" in told or str(folder / "mine.py") not in told
    assert told.isprintable()


def test_the_place_of_a_failure_is_where_it_happened(write: Writing, folder: Path) -> None:
    write("mine.py", "import mine_helper")
    write("mine_helper.py", "x = 1\n1 / 0\n")
    assert f"({folder / 'mine_helper.py'}, line 2)" in problem("mine")


def test_a_module_without_handlers_is_named_with_its_file(write: Writing, folder: Path) -> None:
    write("mine.py", "def handle(context): ...\n")
    told = problem("mine")
    assert str(folder / "mine.py") in told
    assert "@task_handler" in told


def test_an_entry_point_that_is_no_handler_is_named_with_its_package(write: Writing, folder: Path) -> None:
    write("site/theirs.py", "def handle(context): ...\n")
    install_entry_point(folder, "theirs:handle", name="mine")
    told = problem()
    assert "entry point 'mine' of the package their-package" in told
    assert "theirs:handle" in told


def test_every_bad_module_is_named_at_once(write: Writing) -> None:
    write("mine.py", "")
    with pytest.raises(ConfigurationError) as raised:
        discover(["no_such_module", "mine"])
    assert len(raised.value.problems) == 2
