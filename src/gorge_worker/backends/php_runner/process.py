"""One PHP runner: a process that executes one task after the other."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import structlog

from gorge_worker.backends.php_runner.endings import ending, said
from gorge_worker.backends.php_runner.guard import Guard
from gorge_worker.backends.php_runner.launching import Launch
from gorge_worker.backends.php_runner.messages import Unusable, decode_answer
from gorge_worker.backends.php_runner.output import Output
from gorge_worker.backends.php_runner.pipes import Pipes
from gorge_worker.errors import BackendUnavailable

START_TIMEOUT = 60.0
"""Seconds until a started PHP has to be ready; it takes a fifth of one on a small machine."""
TERM_GRACE = 0.3
"""Seconds between SIGTERM and SIGKILL: less than what an execution gets that a shutdown has cut."""
REAP_TIMEOUT = 5.0
"""Seconds for a process that has closed its pipe, or was killed, to be gone."""

_log = structlog.get_logger()


class RunnerGone(Exception):
    """The process has ended, or sent what is no answer. The message says how."""


class RunnerProcess:
    """A started PHP with its pipes. After RunnerGone, or when it was broken off, it is of no more use: `kill`."""

    def __init__(self, process: Process, pipes: Pipes, output: Output, guard: Guard) -> None:
        self._process = process
        self._pipes = pipes
        self._guard = guard
        self.output = output
        self._lines: asyncio.StreamReader | None = None
        self._requests: asyncio.WriteTransport | None = None
        self.executed = 0
        """How many requests it has got."""

    @classmethod
    async def start(cls, launch: Launch, folder: Path, guard: Guard) -> RunnerProcess:
        """Starts PHP and waits until it has loaded Phorge. `folder` is made for its pipes.

        Raises BackendUnavailable, saying what PHP said, when it does not get that far.
        """
        command = launch.command(folder / "requests", folder / "answers")
        with ExitStack() as undo:
            try:
                pipes = Pipes(folder, launch.identity())
                undo.callback(pipes.close)
                output = Output()
                undo.callback(output.close)
                await guard.start()
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=DEVNULL,
                    stdout=output.writing_end,
                    stderr=output.writing_end,
                    env=launch.environment(os.environ),
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                raise BackendUnavailable(f"can't start {command[0]}: {error.strerror or error}") from error
            undo.pop_all()
        guard.watch(process.pid)
        runner = cls(process, pipes, output, guard)
        try:
            await runner._become_ready()
        except BaseException:
            await asyncio.shield(runner.kill())
            raise
        return runner

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def _become_ready(self) -> None:
        self.output.started()
        self._lines = await self._pipes.listen()
        ready = asyncio.create_task(self._lines.readline())
        ended = asyncio.create_task(self._process.wait())
        try:
            # A PHP that fails before it opens its pipes leaves nothing to read, not even an end.
            await asyncio.wait([ready, ended], timeout=START_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done() or not (line := ready.result()):
                raise BackendUnavailable(await self._why_not_ready(ended))
            announcement = decode_answer(line)
        except Unusable as error:
            raise BackendUnavailable(f"PHP does not start: {error}") from error
        finally:
            ready.cancel()
            ended.cancel()
        self._requests = await self._pipes.connect()
        _log.debug("php started", pid=self.pid, php=announcement.get("php"))

    async def _why_not_ready(self, ended: asyncio.Task[int]) -> str:
        await asyncio.wait([ended], timeout=0 if not self._lines_ended() else REAP_TIMEOUT)
        text, _ = self.output.take()
        if text:
            _log.warning("php printed while it started", output=text)
        if not ended.done():
            return f"PHP is not ready after {START_TIMEOUT:g} s"
        return f"PHP does not start: {said(text) or ending(ended.result())}"

    def _lines_ended(self) -> bool:
        return self._lines is not None and self._lines.at_eof()

    def send(self, request: bytes) -> None:
        """Sends a request. Its answers are read by `receive`."""
        if self._requests is None:
            raise RunnerGone("the PHP process has not started")
        self.executed += 1
        self._requests.write(request)

    async def receive(self, number: int) -> dict[str, Any]:
        """The next answer to that request. Raises RunnerGone."""
        if self._lines is None:
            raise RunnerGone("the PHP process has not started")
        try:
            line = await self._lines.readline()
        except ValueError as error:
            raise RunnerGone("PHP sent an answer that is too long") from error
        if not line.endswith(b"\n"):
            raise RunnerGone(await self._how_it_ended())
        try:
            return decode_answer(line, number)
        except Unusable as error:
            raise RunnerGone(str(error)) from error

    async def _how_it_ended(self) -> str:
        with suppress(TimeoutError):  # a process that closes its pipe and goes on is named as such
            await asyncio.wait_for(self._process.wait(), REAP_TIMEOUT)
        return ending(self._process.returncode)

    async def let_go(self) -> None:
        """Lets it end by itself, which it does when there are no more requests; kills it when it does not."""
        self._pipes.close()
        try:
            await asyncio.wait_for(self._process.wait(), REAP_TIMEOUT)
        except TimeoutError:
            await self.kill()
        else:
            self._forget()

    async def kill(self) -> None:
        """Ends it and whatever its task has started: SIGTERM first, SIGKILL for all that is left a moment later."""
        self._signal(signal.SIGTERM)
        with suppress(TimeoutError):  # it is killed below
            await asyncio.wait_for(self._process.wait(), TERM_GRACE)
        self._signal(signal.SIGKILL)
        try:
            await asyncio.wait_for(self._process.wait(), REAP_TIMEOUT)
        except TimeoutError:  # in the middle of a system call that can't be interrupted: a dead network file system
            _log.error("php can't be killed", pid=self.pid)
        self._forget()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # all of the group have ended
            os.killpg(self.pid, number)

    def _forget(self) -> None:
        self._guard.forget(self.pid)
        self._pipes.close()
        self.output.close()
