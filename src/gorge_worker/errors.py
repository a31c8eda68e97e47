"""What can go wrong, by cause. Every message is meant to be read by an operator and carries no secret."""

from __future__ import annotations


class GorgeWorkerError(Exception):
    """The root of everything that the product raises itself."""


class ConfigurationError(GorgeWorkerError):
    """Settings that can't be used: the process must not start, and exits with code 2.

    The message names every problem, one a line.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class StartError(GorgeWorkerError):
    """The settings are fine but the process can't start: a port in use, a database that can't be opened.

    The exit code is 1.
    """


class BackendUnavailable(GorgeWorkerError):
    """A backend that executed nothing and would treat every other task alike: refused, no right, no method, 503.

    The task goes back without a failure. `retry_after` is in seconds, where the backend named one.
    """

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class LeaseLost(GorgeWorkerError):
    """The lease is no longer this worker's: nothing is reported for the task."""


class QueueTrouble(GorgeWorkerError):
    """The queue did not give a usable answer. It is asked again later; nothing is lost by it."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class PermanentFailure(GorgeWorkerError):
    """Raised by a Python handler: this task can never succeed and is not tried again."""


class YieldTask(GorgeWorkerError):
    """Raised by a Python handler: execute the task again later, without counting a failure.

    `seconds` below 5 count as 5 (PhabricatorWorkerYieldException, PhabricatorWorkerActiveTask).
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"yield for {seconds} s")
        self.seconds = seconds
