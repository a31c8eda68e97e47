"""What tasks print: drained whatever its size, so that nobody waits for a full pipe, and kept in part."""

from __future__ import annotations

import asyncio
import os

KEPT = 64 << 10
"""Bytes that are kept of what one task prints."""
CHUNK = 64 << 10
LAST_READS = 8
"""What was printed before an answer is in the pipe when the answer comes: no more than a pipe holds."""


class Output:
    """Both standard output and standard error of a runner. `writing_end` is for the new process, until `started`."""

    def __init__(self) -> None:
        self._reading_end, self.writing_end = os.pipe()
        os.set_blocking(self._reading_end, False)
        self._kept = bytearray()
        self._dropped = 0
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reading_end, self._read)

    def started(self) -> None:
        if self.writing_end >= 0:
            os.close(self.writing_end)
            self.writing_end = -1

    def take(self) -> tuple[str, int]:
        """The text that was printed since the last call, and how many bytes of it were dropped."""
        for _ in range(LAST_READS):
            if not self._read():
                break
        text, dropped = self._kept.decode(errors="replace"), self._dropped
        self._kept.clear()
        self._dropped = 0
        return text, dropped

    def close(self) -> None:
        self.started()
        if self._reading_end >= 0:
            self._loop.remove_reader(self._reading_end)
            os.close(self._reading_end)
            self._reading_end = -1

    def _read(self) -> bool:
        """Whether there may be more."""
        if self._reading_end < 0:
            return False
        try:
            chunk = os.read(self._reading_end, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:  # nobody is left who could print
            self._loop.remove_reader(self._reading_end)
            return False
        room = KEPT - len(self._kept)
        self._kept += chunk[:room]
        self._dropped += max(0, len(chunk) - room)
        return True
