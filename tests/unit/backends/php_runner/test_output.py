from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator

from support.waiting import until

from gorge_worker.backends.php_runner.output import KEPT, Output


@contextlib.contextmanager
def output() -> Iterator[Output]:
    opened = Output()
    try:
        yield opened
    finally:
        opened.close()


async def test_what_is_printed_is_taken_once() -> None:
    with output() as printed:
        os.write(printed.writing_end, b"one\n")
        os.write(printed.writing_end, b"two\xff\n")
        assert printed.take() == ("one\ntwo\ufffd\n", 0)
        assert printed.take() == ("", 0)


async def test_megabytes_are_drained_and_their_beginning_is_kept() -> None:
    with output() as printed:
        text = b"x" * (5 << 20)
        await asyncio.to_thread(_write_all, printed.writing_end, text)
        kept, dropped = printed.take()
        assert (len(kept), dropped) == (KEPT, len(text) - KEPT)
        os.write(printed.writing_end, b"next")
        assert printed.take() == ("next", 0)


async def test_an_end_of_all_writers_leaves_what_they_had_printed() -> None:
    with output() as printed:
        os.write(printed.writing_end, b"last words")
        printed.started()
        await until(lambda: printed.take() == ("last words", 0) or printed._kept == b"")


def _write_all(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]
