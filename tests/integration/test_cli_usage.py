from __future__ import annotations

import asyncio
import sys

import pytest
from support.command import environment, run

from gorge_worker._version import __version__
from gorge_worker.cli import COMMANDS

HEAVY = {
    "aiohttp",
    "uvloop",
    "sqlite3",
    "pymysql",
    "cryptography",
    "gorge_worker.app",
    "gorge_worker.web",
    "gorge_worker.engine",
}


async def test_the_version_is_printed() -> None:
    ended = await run("--version")
    assert (ended.code, ended.out) == (0, f"gorge-worker, version {__version__}\n")


@pytest.mark.parametrize("option", ["--help", "-h"])
async def test_help_lists_every_command(option: str) -> None:
    ended = await run(option)
    assert ended.code == 0
    listed = [line.split()[0] for line in ended.out.split("Commands:")[1].splitlines() if line.startswith("  ")]
    assert tuple(listed[: len(COMMANDS)]) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
async def test_the_help_of_every_command_ends_with_examples(command: str) -> None:
    ended = await run(command, "--help")
    assert ended.code == 0
    examples = ended.out.split("Examples:\n")[1].splitlines()
    assert all(f"gorge-worker {command}" in line for line in examples)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["--no-such-option"],
        ["run", "surplus"],
        ["queue"],
        ["queue", "--store", "mysql://host/db"],
        ["queue", "--store", "mysql://user@host/db?charset=utf8"],
        ["queue", "--store", "mysql+pymysql://user@host/db"],
        ["queue", "--store", "sqlite:///q.db", "--listen", "8090"],
        ["enqueue"],
        ["enqueue", "A", "{}", "surplus"],
        ["enqueue", "A", "--priority", "high"],
        ["enqueue", "A", "--priority", "-1"],
        ["enqueue", "A", "--delay", "-1"],
        ["enqueue", "A", "--queue", "task-queue:8090"],
        ["enqueue", "A", "--queue", "sqlite:///q.db"],
        ["enqueue", "A", "--queue", "mysql://user@host/db"],
        ["health", "127.0.0.1:8170"],
        ["standalone", "--data", sys.executable],
    ],
)
async def test_misuse_has_exit_code_2_and_a_message(arguments: list[str]) -> None:
    ended = await run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err


async def test_a_password_in_a_misused_url_is_masked() -> None:
    ended = await run("queue", "--store", "ftp://user:hunter2@host")
    assert ended.code == 2
    assert "ftp://user:***@host" in ended.err
    assert "hunter2" not in ended.err


@pytest.mark.parametrize(
    "command", [["run"], ["standalone"], ["queue", "--store", "sqlite:///q.db"], ["config"], ["health"]]
)
async def test_settings_that_cannot_be_used_have_exit_code_2(command: list[str]) -> None:
    ended = await run(*command, settings={"MAX_WORKERS": "0", "GORGE_WORKER_LEASE_LIMIT": "four"})
    assert (ended.code, ended.out) == (2, "")
    takes = "in the environment can't be used: it takes a whole number from 1 to 10000"
    assert ended.err.splitlines() == [
        f"gorge-worker: GORGE_WORKER_LEASE_LIMIT=four {takes}",
        f"gorge-worker: MAX_WORKERS=0 {takes}",
    ]


@pytest.mark.parametrize("command", [["run"], ["standalone"], ["queue", "--store", "sqlite:///q.db"], ["config"]])
async def test_an_environment_file_that_is_missing_has_exit_code_2(command: list[str]) -> None:
    ended = await run(*command, "--env-file", "/no/such/file.env")
    assert (ended.code, ended.out) == (2, "")
    assert (
        ended.err == "gorge-worker: the environment file /no/such/file.env can't be read: No such file or directory\n"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["health"], ["enqueue", "A"], ["config"]])
async def test_a_quick_command_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from gorge_worker.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    settings = environment({"LISTEN_ADDR": "127.0.0.1:9", "TASK_QUEUE_URL": "http://127.0.0.1:9"})
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        *arguments,
        env=settings,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    modules = set(err.decode().splitlines()[-1].split())
    assert "gorge_worker.cli" in modules
    assert not HEAVY & modules
