from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

from support.groups import members
from support.waiting import until

from gorge_worker.backends.php_runner.guard import Guard

SESSION = ["/bin/sh", "-c", "sleep 600 & sleep 600"]


def session() -> subprocess.Popen[bytes]:
    """A process that has started another one, in a group of their own."""
    return subprocess.Popen(SESSION, start_new_session=True)


async def test_what_it_was_told_of_ends_with_the_worker_and_what_it_was_told_to_forget_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "pipes of $(worker)"
    (folder / "1").mkdir(parents=True)
    watched, forgotten = [session() for _ in range(3)], session()
    guard = Guard(folder)
    try:
        guard.watch(watched[0].pid)  # before it runs
        await guard.start()
        await guard.start()
        for one in (*watched[1:], forgotten):
            guard.watch(one.pid)
        guard.forget(forgotten.pid)
        await guard.close()  # for the guard, the same as the worker's end by kill -9: its input ends
        assert [one.wait() for one in watched] == [-signal.SIGKILL] * 3
        await until(lambda: not [one.pid for one in watched if members(one.pid)])
        assert forgotten.poll() is None
        assert not folder.exists()
    finally:
        for one in (*watched, forgotten):
            if members(one.pid):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


async def test_a_guard_that_was_killed_is_replaced_and_told_again(tmp_path: Path) -> None:
    watched = session()
    guard = Guard(tmp_path / "pipes")
    try:
        await guard.start()
        guard.watch(watched.pid)
        assert guard._process is not None
        first = guard._process
        first.kill()
        await first.wait()
        guard.forget(12)  # nobody listens, and nothing is raised
        await guard.start()
        assert guard._process is not first
        await guard.close()
        await until(lambda: not members(watched.pid))
    finally:
        if members(watched.pid):
            os.killpg(watched.pid, signal.SIGKILL)
        watched.wait()


async def test_a_guard_that_was_never_needed_ends_at_once(tmp_path: Path) -> None:
    async with asyncio.timeout(5):
        await Guard(tmp_path / "pipes").close()
