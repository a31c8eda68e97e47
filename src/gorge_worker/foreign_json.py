"""JSON that was written elsewhere."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def decode_json(text: str | bytes) -> Any:
    """Decodes any JSON text, lone surrogates included, which faster decoders refuse.

    Raises ValueError saying what is wrong with it, also for a text that is nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
