"""How a PHP process has ended, in words."""

from __future__ import annotations

import re
import signal

from gorge_worker.excerpt import excerpt

MAX_REASON = 400
"""Characters of what PHP itself has said."""
_EXCEPTION = re.compile(r"EXCEPTION: (.+)|(PHP )?Fatal error: +(.+)|FATAL ERROR: (.+)|(UPGRADE PHP: .+)")


def ending(code: int | None) -> str:
    """What an exit code of a subprocess stands for, None for a process that goes on."""
    if code is None:
        return "the PHP process has closed its pipe"
    if code >= 0:
        return f"the PHP process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the PHP process was ended by {name}"


def said(output: str) -> str:
    """The line of PHP's output that says what went wrong: of an exception its message, else the last line."""
    lines = [line for line in output.splitlines() if line.strip()]
    for line in lines:
        if found := _EXCEPTION.search(line):
            return excerpt(next(filter(None, reversed(found.groups()))), MAX_REASON)
    return excerpt(lines[-1], MAX_REASON) if lines else ""
