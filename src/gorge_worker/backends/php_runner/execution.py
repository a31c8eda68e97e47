"""One task, executed by a runner."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Any

import msgspec
import structlog

from gorge_worker.backends.deadlines import DEFAULT_DEADLINE, deadline
from gorge_worker.backends.execution_result import outcome_of_result
from gorge_worker.backends.php_runner.messages import encode_request
from gorge_worker.backends.php_runner.process import RunnerGone, RunnerProcess
from gorge_worker.model import Lease, Outcome, Verdict
from gorge_worker.whole_seconds import whole_seconds

ENDED = "ended"
"""Why a runner is replaced that its task has ended (GorgeWorkerRunner::didShutdown)."""

_log = structlog.get_logger()


class NotBegun(Exception):
    """The runner has ended before it began with the task. The message says how."""


class After(Enum):
    """What is to become of the runner."""

    REUSE = auto()
    LET_GO = auto()
    """It has answered, and ends by itself."""
    KILL = auto()
    """It may still be executing, or has left behind what its task had started."""


class Execution:
    """Has a runner execute a task, and knows `after` that what is to become of the runner."""

    def __init__(self, runner: RunnerProcess, lease: Lease) -> None:
        self._runner = runner
        self._lease = lease
        self._retry: int | None = None
        self._began = False
        self.after = After.KILL

    async def run(self) -> Outcome:
        """What the task came to. The class says how long it may take.

        Raises NotBegun.
        """
        loop = asyncio.get_running_loop()
        number = self._runner.executed + 1
        seconds = DEFAULT_DEADLINE
        self._log_output(task=None)
        try:
            async with asyncio.timeout(seconds) as limit:
                self._runner.send(encode_request(number, self._lease))
                answer = await self._runner.receive(number)
                if "result" not in answer:
                    seconds = deadline(answer.get("leaseDuration"))
                    limit.reschedule(loop.time() + seconds)
                    self._began, self._retry = True, whole_seconds(answer.get("retry"))
                    answer = await self._runner.receive(number)
        except TimeoutError:
            return self._failed(f"time-out: not finished within {seconds:g} s, as long as its class allows")
        except RunnerGone as gone:
            if not self._began:
                raise NotBegun(str(gone)) from gone
            return self._failed(str(gone))
        finally:
            self._log_output(task=self._lease)
        self._decide(answer.get("recycle"), answer.get("rss"))
        outcome = outcome_of_result(answer)
        if outcome.verdict is Verdict.TEMPORARY_FAILURE and outcome.wait is None:
            return msgspec.structs.replace(outcome, wait=self._retry)
        return outcome

    def _decide(self, recycle: Any, rss: Any) -> None:
        if recycle is None:
            self.after = After.REUSE
            return
        _log.debug("php is replaced", pid=self._runner.pid, reason=recycle, rss=rss)
        if recycle != ENDED:
            self.after = After.LET_GO

    def _failed(self, reason: str) -> Outcome:
        return Outcome.temporary_failure(reason, self._retry)

    def _log_output(self, *, task: Lease | None) -> None:
        text, dropped = self._runner.output.take()
        if not text:
            return
        named = {"task": task.task.id, "task_class": task.task.task_class} if task else {}
        _log.info("php printed", **named, pid=self._runner.pid, output=text, dropped_bytes=dropped)
