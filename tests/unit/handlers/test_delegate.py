from __future__ import annotations

from support.leases import lease_of

from gorge_worker.handlers.delegate import DelegateHandler
from gorge_worker.model import Outcome, Task


class Php:
    def __init__(self) -> None:
        self.tasks: list[Task] = []

    async def execute(self, task: Task) -> Outcome:
        self.tasks.append(task)
        return Outcome.yielded(30)


async def test_a_task_is_handed_over_as_it_is() -> None:
    php, lease = Php(), lease_of(data='{ "a":1 }')
    assert await DelegateHandler(php, name="conduit", timeout=None).execute(lease) == Outcome.yielded(30)
    assert php.tasks == [lease.task]


def test_work_in_php_goes_on_after_a_cancellation() -> None:
    handler = DelegateHandler(Php(), name="conduit", timeout=7)
    assert (handler.backend, handler.timeout, handler.stops_when_cancelled) == ("conduit", 7, False)
