"""What keeps a process from starting, said in one line; and what a process that has started has imported."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest
from support.command import Ended, run
from support.process import MODULE, Lab, address

QUEUE = ("queue", "--store", "sqlite:///data/queue.db")
STANDALONE = ("standalone", "--data", "data")
ON_FILE = {"TASK_QUEUE_URL": "sqlite:///data/queue.db"}
LISTING = """
import atexit, sys
atexit.register(lambda: open("modules-" + sys.argv[1], "w").write("\\n".join(sys.modules)))
from gorge_worker.cli import main
main()
"""
"""The command itself, which leaves behind what it has imported by its end."""
FOUNDATIONS = {
    "aiohappyeyeballs",
    "aiohttp",
    "aiosignal",
    "attr",
    "click",
    "frozenlist",
    "gorge_worker",
    "httptools",
    "idna",
    "msgspec",
    "multidict",
    "propcache",
    "structlog",
    "typing_extensions",
    "uvloop",
    "yarl",
}
"""The packages that services are made of."""
OTHERS = {"pygments", "rich", "sitecustomize", "cython_runtime"}
"""What structlog imports where it happens to be installed, and what belongs to the interpreter and its extensions."""
MOST_MODULES = 600


def complaint(ended: Ended, code: int) -> str:
    """The one line in which a process says why it does not run."""
    assert ended.code == code
    assert ended.out == ""
    lines = [line for line in ended.err.splitlines() if not line.startswith("{")]
    assert len(lines) == 1, ended.err
    return lines[0]


def addresses(lab: Lab) -> dict[str, str]:
    return {"LISTEN_ADDR": address(lab.port()), "QUEUE_LISTEN_ADDR": address(lab.queue_port)}


@pytest.mark.parametrize(
    ("command", "variable"),
    [
        (("run",), "LISTEN_ADDR"),
        (QUEUE, "QUEUE_LISTEN_ADDR"),
        (STANDALONE, "LISTEN_ADDR"),
        (STANDALONE, "QUEUE_LISTEN_ADDR"),
    ],
)
async def test_a_port_in_use_is_named_in_one_line(tmp_path: Path, command: tuple[str, ...], variable: str) -> None:
    async with Lab(tmp_path) as lab:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            used = address(taken.getsockname()[1])
            ended = await run(*command, settings=addresses(lab) | {variable: used}, folder=tmp_path)
        assert complaint(ended, code=1) == (
            f"gorge-worker: can't listen on {used}: another program has this port: stop it, or choose another one"
        )


@pytest.mark.parametrize("command", [("run",), QUEUE, STANDALONE])
async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    content = b"Dear diary, " * 1000
    async with Lab(tmp_path) as lab:
        file = tmp_path / "data" / "queue.db"
        file.write_bytes(content)
        ended = await run(*command, settings=addresses(lab) | ON_FILE, folder=tmp_path)
        assert re.fullmatch(
            r"gorge-worker: the task database \S*queue\.db can't be opened \(.*\): it is not an SQLite database: .*",
            complaint(ended, code=1),
        )
        assert file.read_bytes() == content
        assert [one.name for one in file.parent.iterdir()] == ["queue.db"]


@pytest.mark.parametrize("command", [("run",), STANDALONE])
@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("missing", None, "there is no module 'missing'"),
        ("broken", "def handler(:\n", r"the module 'broken' can't be imported: .*broken\.py.*SyntaxError"),
        (
            "needy",
            "import not_installed\n",
            "the module 'needy' can't be imported: .*'not_installed'.*needy.py, line 1",
        ),
        ("quitter", "import sys\nsys.exit(0)\n", r"the module 'quitter' can't be imported: .*quitter\.py, line 2"),
        ("empty", "", r"the module 'empty' \(.*empty\.py\) has no function that is marked with @task_handler"),
    ],
)
async def test_a_handler_module_that_can_not_be_used_stops_the_start(
    tmp_path: Path, command: tuple[str, ...], name: str, source: str | None, reason: str
) -> None:
    async with Lab(tmp_path) as lab:
        if source is not None:
            (tmp_path / f"{name}.py").write_text(source)
        settings = addresses(lab) | ON_FILE | {"HANDLERS": f"{MODULE},{name}"}
        ended = await run(*command, settings=settings, folder=tmp_path)
        assert re.search(f"^gorge-worker: .*HANDLERS: {reason}", complaint(ended, code=2))
        assert not (tmp_path / "data" / "queue.db").exists()


async def test_a_worker_over_http_has_no_database_and_a_queue_server_no_engine(tmp_path: Path) -> None:
    command = (sys.executable, "-c", LISTING)
    async with Lab(tmp_path) as lab:
        queue = await lab.queue(command=command)
        worker = await lab.worker(command=command)
        await lab.enqueue("Parent")
        await lab.archived(2)
        for service in (worker, queue):
            assert await service.terminate() == 0
        of_worker = modules(tmp_path / "modules-run")
        assert not within(of_worker, "sqlite3", "_sqlite3", "gorge_worker.queues.sqlite", "gorge_worker.web.queue_api")
        of_queue = modules(tmp_path / "modules-queue")
        engine = ("gorge_worker.engine", "gorge_worker.backends", "gorge_worker.queues.gorge", "gorge_worker.registry")
        assert not within(of_queue, *engine, "gorge_worker.http_client")
        for imported in (of_worker, of_queue):
            packages = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
            assert {name for name in packages if not name.startswith("_")} <= FOUNDATIONS | OTHERS | {MODULE}
            assert not within(imported, "multiprocessing", "unittest", "xml")
            assert len(imported - within(imported, *OTHERS)) < MOST_MODULES


def modules(listing: Path) -> set[str]:
    return set(listing.read_text().splitlines())


def within(imported: set[str], *names: str) -> set[str]:
    """What of these modules and packages has been imported."""
    return {one for one in imported if any(f"{one}.".startswith(f"{name}.") for name in names)}


async def test_the_folder_of_standalone_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        folder = tmp_path / "data"
        folder.rmdir()
        await lab.standalone()
        assert (folder / "queue.db").exists()
        assert folder.stat().st_mode & 0o777 == 0o700
