"""A foreign text, made fit for one line of a log or of an error message."""

from __future__ import annotations

from gorge_worker.masking import MASK

BYTES_LOOKED_AT = 8
"""For each character of the excerpt: room for UTF-8 and for white space that is folded, however long the text is."""


def excerpt(body: bytes | str, most: int = 200, *, hide: str = "") -> str:
    """The beginning of a text from elsewhere: one line, at most `most` characters, nothing in it that can't be printed.

    Bytes are read as UTF-8. White space, control characters, bidirectional marks and lone surrogates become single
    spaces. An excerpt that leaves something out ends with an ellipsis. A blank text gives the empty string.
    `hide` is a secret that the other side may repeat, as Phorge does with a token that it refuses: it is masked.
    """
    # Masked before it is cut: part of a secret would no longer be found.
    whole = _masked(body, hide) if hide else body
    start = whole[: most * BYTES_LOOKED_AT]
    text = start if isinstance(start, str) else start.decode("utf-8", "replace")
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(line) <= most and len(start) == len(whole):
        return line
    return line[: most - 1].rstrip() + "…"


def _masked(body: bytes | str, secret: str) -> bytes | str:
    if isinstance(body, str):
        return body.replace(secret, MASK)
    return body.replace(secret.encode("utf-8", "surrogateescape"), MASK.encode())
