"""As many PHP runners as there are tasks to be executed."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import tempfile
from pathlib import Path

import structlog

from gorge_worker.backends.php_runner.execution import After, Execution, NotBegun
from gorge_worker.backends.php_runner.guard import Guard
from gorge_worker.backends.php_runner.launching import Launch
from gorge_worker.backends.php_runner.process import RunnerProcess
from gorge_worker.errors import BackendUnavailable
from gorge_worker.model import Lease, Outcome, Task

_log = structlog.get_logger()


class RunnerPool:
    """The handler of what PHP executes in processes of the worker's own.

    A runner is started for a task when none is idle and there are less than `most`, and let go after `idle` seconds
    without one. A task beyond them waits; its deadline begins when it is sent to PHP. Raises ConfigurationError when
    the launch can't be used by this process.
    """

    backend = "php-runner"
    timeout = math.inf
    stops_when_cancelled = True

    def __init__(self, launch: Launch, *, most: int, idle: float) -> None:
        launch.check_user()
        self._launch = launch
        self._room = asyncio.Semaphore(most)
        self.waiting = 0
        self._idle_seconds = idle
        self._idle: dict[RunnerProcess, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._folder: Path | None = None
        self._guard: Guard | None = None

    def retry_wait(self, _task: Task) -> None:
        """The queue's own, for what ends before PHP has named the class's."""

    async def check(self) -> None:
        """Starts a runner, for the first task. Raises BackendUnavailable, saying why tasks can't be executed."""
        async with self._room:
            self._put_back(await self._start())

    async def execute(self, lease: Lease) -> Outcome:
        """Executes a task. Raises BackendUnavailable when PHP does not start. A cancellation kills the process."""
        self.waiting += 1
        try:
            await self._room.acquire()
        finally:
            self.waiting -= 1
        try:
            return await self._execute_once(lease)
        finally:
            self._room.release()

    async def _execute_once(self, lease: Lease) -> Outcome:
        runner = self._take()
        if runner is not None:
            try:
                return await self._execute(runner, lease)
            except NotBegun as gone:  # it has ended while it was idle, and says nothing about this task
                _log.info("an idle php has ended", pid=runner.pid, reason=str(gone))
        runner = await self._start()
        try:
            return await self._execute(runner, lease)
        except NotBegun as gone:
            return Outcome.temporary_failure(str(gone))

    async def close(self) -> None:
        """Lets all runners go. Nothing may be executed any more."""
        while self._idle:
            runner, timer = self._idle.popitem()
            timer.cancel()
            self._end(runner)
        if self._ending:
            await asyncio.wait(self._ending)
        if self._guard:
            await self._guard.close()

    async def _execute(self, runner: RunnerProcess, lease: Lease) -> Outcome:
        execution = Execution(runner, lease)
        try:
            outcome = await execution.run()
        except BaseException:
            await asyncio.shield(runner.kill())
            raise
        match execution.after:
            case After.REUSE:
                self._put_back(runner)
            case After.LET_GO:
                self._end(runner)
            case After.KILL:
                await asyncio.shield(runner.kill())
        return outcome

    async def _start(self) -> RunnerProcess:
        try:
            folder, guard = self._workplace()
        except OSError as error:
            raise BackendUnavailable(
                f"can't make a folder for pipes in {tempfile.gettempdir()}: {error.strerror}"
            ) from error
        return await RunnerProcess.start(self._launch, folder / str(next(self._numbers)), guard)

    def _workplace(self) -> tuple[Path, Guard]:
        if self._folder is None or self._guard is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gorge-worker-"))
            if identity := self._launch.identity():
                os.chown(self._folder, *identity)
            self._guard = Guard(self._folder)
        return self._folder, self._guard

    def _take(self) -> RunnerProcess | None:
        """The runner that was used last, so that those too many stay idle."""
        while self._idle:
            runner, timer = self._idle.popitem()
            timer.cancel()
            if not runner.has_ended:
                return runner
            self._end(runner)
        return None

    def _put_back(self, runner: RunnerProcess) -> None:
        loop = asyncio.get_running_loop()
        self._idle[runner] = loop.call_later(self._idle_seconds, self._let_go, runner)

    def _let_go(self, runner: RunnerProcess) -> None:
        del self._idle[runner]
        self._end(runner)

    def _end(self, runner: RunnerProcess) -> None:
        ending = asyncio.create_task(runner.let_go(), name=f"php {runner.pid} ends")
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
