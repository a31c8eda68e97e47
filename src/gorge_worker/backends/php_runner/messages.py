"""The lines that worker and runner exchange (described in GorgeWorkerRunner.php)."""

from __future__ import annotations

from typing import Any

import msgspec

from gorge_worker.backends.task_parameters import context_parameters, task_parameters
from gorge_worker.excerpt import excerpt
from gorge_worker.foreign_json import decode_json
from gorge_worker.model import Lease

SHOWN = 200
"""Characters of an unusable line that a message quotes."""


class Unusable(ValueError):
    """A line that is no answer. Its message quotes it."""


def encode_request(number: int, lease: Lease) -> bytes:
    """A line that has the task executed."""
    request = {"id": number, **task_parameters(lease), **context_parameters(lease)}
    return msgspec.json.encode(request) + b"\n"


def decode_answer(line: bytes, number: int | None = None) -> dict[str, Any]:
    """An answer to the request of that number, None for the announcement that the runner is ready.

    Raises Unusable for anything else.
    """
    try:
        answer = decode_json(line)
    except ValueError:
        answer = None
    expected = ("ready", True) if number is None else ("id", number)
    if not isinstance(answer, dict) or answer.get(expected[0]) != expected[1]:
        raise Unusable(f"PHP sent a line that is no answer: {excerpt(line, SHOWN)!r}")
    return answer
