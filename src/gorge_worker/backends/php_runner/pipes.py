"""The two named pipes between the worker and one runner.

Named, because PHP can only close a descriptor in the programs that it starts when it has opened it by a name itself.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

MAX_ANSWER = 16 << 20
"""Bytes of one line of answer; follow-up tasks may carry much data."""


class Pipes:
    """Made in a folder of its own before the runner starts. `identity` is the user and group that open them.

    `connect` when the runner has opened both, `close` in any case. Raises OSError.
    """

    def __init__(self, folder: Path, identity: tuple[int, int] | None) -> None:
        self.requests, self.answers = folder / "requests", folder / "answers"
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True)  # its parent may have been cleaned away: it is often empty
        for path in (self.requests, self.answers):
            os.mkfifo(path, 0o600)
            if identity:
                os.chown(path, *identity)
        if identity:
            os.chown(folder, *identity)
        # Without a writer PHP would wait in its open(), and for reading nobody need be there yet.
        self._holder = os.open(self.requests, os.O_RDWR | os.O_NONBLOCK)
        self._answers_end = os.fdopen(os.open(self.answers, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        self._reading: asyncio.ReadTransport | None = None
        self._writing: asyncio.WriteTransport | None = None

    async def listen(self) -> asyncio.StreamReader:
        """The lines that the runner sends, until it has ended."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_ANSWER)
        self._reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._answers_end)
        return reader

    async def connect(self) -> asyncio.WriteTransport:
        """Where requests are written to. The names are removed: nobody else needs them."""
        requests_end = os.fdopen(os.open(self.requests, os.O_WRONLY | os.O_NONBLOCK), "wb", buffering=0)
        loop = asyncio.get_running_loop()
        self._writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, requests_end)
        self._release()
        return self._writing

    def close(self) -> None:
        """The runner reads an end of file, and ends."""
        self._release()
        # Each closes by itself when the runner has ended, and asyncio's own can't be closed twice.
        if self._writing and not self._writing.is_closing():
            self._writing.abort()
        if self._reading is None:
            self._answers_end.close()
        elif not self._reading.is_closing():
            self._reading.close()

    def _release(self) -> None:
        if self._holder >= 0:
            os.close(self._holder)
            self._holder = -1
            self.requests.unlink()
            self.answers.unlink()
            self._folder.rmdir()
