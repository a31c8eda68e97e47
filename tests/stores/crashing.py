"""A process that loads a store until it is killed, and says on its output what has been acknowledged.

Usage: crashing.py STORE FOLDER. Lines: `added ID...`, `done ID MARK` (its follow-ups carry the mark as data),
`failed ID COUNT`.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

from stores.factories import STORES, lease, new, report_of

from gorge_worker.clock import SystemClock
from gorge_worker.model import Outcome
from gorge_worker.queues.protocol import Receipt
from gorge_worker.queues.store import TaskStore


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def add(store: TaskStore) -> None:
    while True:
        say("added", *[task.id for task in await store.enqueue([new("Parent", "parent"), new("Parent", "parent")])])


async def work(store: TaskStore, number: int) -> None:
    for sequence in itertools.count():
        owner = f"{number}:{sequence}"
        tasks = await lease(store, 3, owner, "Parent")
        reports = [report_of(task, outcome_of(task.id)) for task in tasks]
        results = await store.report(reports)
        for task, result in zip(tasks, results, strict=True):
            if result.receipt is not Receipt.ACCEPTED:
                raise AssertionError(f"task {task.id}: {result}")
            if task.id % 5:
                say("done", task.id, mark(task.id))
            else:
                say("failed", task.id, task.failure_count + 1)


def outcome_of(task_id: int) -> Outcome:
    if task_id % 5:
        return Outcome.success((new("Child", mark(task_id)), new("Child", mark(task_id))))
    return Outcome.temporary_failure("every fifth one", 1000)


def mark(task_id: int) -> str:
    return f'"child of {task_id}"'


async def main(name: str, folder: str) -> None:
    store = await STORES[name](Path(folder), SystemClock())
    say("ready")
    await asyncio.gather(*[add(store) for _ in range(3)], *[work(store, number) for number in range(5)])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
