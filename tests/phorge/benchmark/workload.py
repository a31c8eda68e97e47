"""The tasks that are executed: objects are indexed for search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from phorge.support.install import Phorge

TASK_CLASS = "PhabricatorSearchWorker"
OBJECTS = 20


@dataclass(frozen=True)
class Workload:
    """`parameters` are the search worker's. Without "force" it finds that the index is up to date."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def data(self, phids: list[str]) -> list[dict[str, Any]]:
        return [{"documentPHID": phid, "parameters": self.parameters, "strict": False} for phid in phids]


LIGHT = Workload("index is up to date")
FULL = Workload("everything is indexed anew", {"force": True})


def make_objects(phorge: Phorge) -> list[str]:
    """Tasks of Maniphest with some text; returns their PHIDs."""
    text = "Some words that are indexed, and some more of them. " * 20
    transactions = [{"type": "title", "value": "An object"}, {"type": "description", "value": text}]
    made = [phorge.call("maniphest.edit", transactions=transactions) for _ in range(OBJECTS)]
    return [one["object"]["phid"] for one in made]


def enqueue(phorge: Phorge, workload: Workload, phids: list[str], count: int) -> None:
    """Queues so many tasks, a multiple of the objects."""
    tasks = [[TASK_CLASS, data, {}] for data in workload.data(phids)]
    phorge.script("enqueue", tasks=tasks, count=-(-count // len(tasks)))
