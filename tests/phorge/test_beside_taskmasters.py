"""PHP's own taskmasters and the worker on one queue at the same time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from phorge.support.background import Background
from phorge.support.executing import taskmasters
from phorge.support.install import Phorge
from phorge.support.processes import children

pytestmark = pytest.mark.limit(120)
AT_A_TIME = 100


async def test_every_task_is_executed_once(empty: Phorge, executing: Background, tmp_path: Path) -> None:
    record = tmp_path / "record"
    record.touch()
    tasks: list[int] = []
    with taskmasters(empty, tmp_path / "beside.log") as beside:
        # Until both have had their share: which of them is faster is another matter.
        while not took_part(beside, record):
            tasks += empty.enqueue("SuiteNoteWorker", {"file": str(record)}, count=AT_A_TIME)
            await empty.queue.drained()
        beside.assert_runs()
    executing.assert_runs()

    assert Counter(int(line.split()[0]) for line in record.read_text().splitlines()) == Counter(tasks)
    assert empty.queue.executed() == {"SuiteNoteWorker": len(tasks)}


def took_part(beside: Background, record: Path) -> bool:
    """Whether the taskmaster has executed a task, and somebody else another one."""
    executed = {int(line.split()[1]) for line in record.read_text().splitlines()}
    theirs = children(beside.process.pid)
    return bool(executed & theirs) and bool(executed - theirs)
