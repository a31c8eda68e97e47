"""Which parameters the `worker.execute` before us takes: it has three ages (contract: conduit.md)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gorge_worker.backends.task_parameters import context_parameters, task_parameters
from gorge_worker.model import Lease

VERSION = 1
"""The only version of the protocol that there is."""
CONTEXT = frozenset({"failureCount", "priority", "objectPHID", "containerPHID", "leaseOwner", "leaseExpires"})
"""What came after the seed's three parameters; with version 1 all of it is understood."""

_UNDECLARED = re.compile(r"does not define these parameters:(.*)", re.DOTALL)
_QUOTED = re.compile(r"['\"](\w+)['\"]")

PROBE = {
    "taskID": 0,
    "taskClass": "",
    "data": "",
    "failureCount": 0,
    "priority": 0,
    "objectPHID": None,
    "containerPHID": None,
    "leaseOwner": "",
    "leaseExpires": 0,
    "executionVersion": VERSION,
    "phase": "capabilities",
}
"""A call that asks for the phase which executes nothing, and that names no task in case the other side knows none. It
has every parameter that there is: Phorge answers with the names of those that it does not declare."""


class Dialect(msgspec.Struct, frozen=True):
    """`declared` are the parameters that are sent beside the seed's three; `versioned` is version 1, with phases."""

    declared: frozenset[str] = frozenset()
    versioned: bool = False

    @property
    def names_lease(self) -> bool:
        """Whether a call says whose lease the task is under."""
        return "leaseOwner" in self.declared

    def parameters(self, lease: Lease, phase: str) -> dict[str, Any]:
        """Of a call for the task."""
        if not self.declared:
            return task_parameters(lease)
        context = context_parameters(lease)
        more = {name: value for name, value in context.items() if name in self.declared and value is not None}
        return task_parameters(lease) | more | ({"executionVersion": VERSION, "phase": phase} if self.versioned else {})


SEED = Dialect()
VERSION_1 = Dialect(CONTEXT, versioned=True)


def undeclared_parameters(info: str) -> frozenset[str] | None:
    """The parameters that Phorge says that its method does not define; None when it says something else."""
    found = _UNDECLARED.search(info)
    return None if found is None else frozenset(_QUOTED.findall(found[1]))


def dialect_without(undeclared: frozenset[str]) -> Dialect:
    """What a method takes that has refused the probe, for these parameters."""
    return Dialect(CONTEXT - undeclared) if undeclared else SEED


def dialect_of_result(result: Any) -> Dialect:
    """What a method takes that has answered the probe with this result."""
    if isinstance(result, dict) and result.get("result") == "capabilities":
        version = result.get("executionVersion")
        if isinstance(version, int) and not isinstance(version, bool) and version >= VERSION:
            return VERSION_1
    return SEED
