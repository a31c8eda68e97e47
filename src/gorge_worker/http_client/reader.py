"""Putting an answer together from what a connection brings, however it is cut. No I/O."""

from __future__ import annotations

from http import HTTPStatus
from typing import NoReturn

from httptools import HttpParserError, HttpResponseParser
from multidict import CIMultiDict, CIMultiDictProxy

from gorge_worker.http_client.answers import AnswerTooLarge, HttpAnswer, HttpError, NoAnswer

MAX_HEAD = 1 << 16
"""Bytes of headers, with those of interim answers and trailers; also bytes of anything else that is no content."""
_AROUND_HEADER = len(": \r\n")
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class _Stop(Exception):
    """Makes the parser stop; why is in `_refusal`."""


class AnswerReader:
    """Reads one answer after the other.

    `reusable` tells, once an answer is whole, whether another one may follow it on the connection. The methods named
    on_... are called by the parser.
    """

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._body = bytearray()
        self.begin(0)

    def begin(self, max_answer: int) -> None:
        """The next bytes are an answer's, of whose body at most `max_answer` bytes are taken."""
        self._most = max_answer
        self._fields: list[tuple[str, str]] = []
        self._headers: CIMultiDictProxy[str] | None = None  # of the final answer, once they are complete
        self._ends_with_connection = False
        self._head_bytes = 0
        self._bytes_without_content = 0
        self._refusal: HttpError | None = None
        self._answer: HttpAnswer | None = None
        self._is_whole = False
        self.reusable = False

    def feed(self, data: bytes) -> HttpAnswer | None:
        """The answer, when it is whole now. Raises NoAnswer or AnswerTooLarge, after which nothing may be fed."""
        self._bytes_without_content += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self.reusable = False
            if self._refusal is not None:
                raise self._refusal from None
            if not self._is_whole:
                raise NoAnswer(f"the answer is not HTTP: {error}") from error
        if self._bytes_without_content > MAX_HEAD and not self._is_whole:
            raise NoAnswer(f"the answer has more than {MAX_HEAD} bytes without content")
        return self._take()

    def end(self) -> HttpAnswer:
        """The answer, when the end of the connection is its end. Raises NoAnswer when it cuts it short."""
        if self._headers is not None and self._ends_with_connection:
            self.on_message_complete()
        if answer := self._take():
            return answer
        began = self._bytes_without_content or self._head_bytes
        how_far = "the answer was cut short" if began else "it was closed before an answer came"
        raise NoAnswer(f"the connection broke: {how_far}")

    def _take(self) -> HttpAnswer | None:
        answer, self._answer = self._answer, None
        return answer

    def _refuse(self, error: HttpError) -> NoReturn:
        self._refusal = error
        raise _Stop

    def on_message_begin(self) -> None:
        if self._is_whole:  # what follows it is nobody's
            raise _Stop

    def on_header(self, name: bytes, value: bytes) -> None:
        self._bytes_without_content = 0
        self._head_bytes += len(name) + len(value) + _AROUND_HEADER
        if self._head_bytes > MAX_HEAD:
            self._refuse(NoAnswer(f"the answer has headers of more than {MAX_HEAD} bytes"))
        if self._headers is None:
            self._fields.append((name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        fields, self._fields = self._fields, []
        if status < HTTPStatus.CONTINUE or status == HTTPStatus.SWITCHING_PROTOCOLS:
            self._refuse(NoAnswer(f"the answer has the status {status}, which was not asked for"))
        if status < HTTPStatus.OK:
            return
        headers = CIMultiDictProxy(CIMultiDict(fields))
        coding = ", ".join(headers.getall("Transfer-Encoding", ()))
        if coding and coding.lower() != "chunked":
            self._refuse(NoAnswer("the answer is encoded in a way that was not asked for"))
        length = headers.get("Content-Length")
        if length is not None and int(length) > self._most and status not in _BODILESS:
            self._refuse(AnswerTooLarge(f"an answer of {length} bytes, more than {self._most}"))
        self._headers = headers
        self._ends_with_connection = not coding and length is None
        self.reusable = self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        if self._headers is None:
            return
        self._bytes_without_content = 0
        if len(self._body) + len(piece) > self._most:
            self._refuse(AnswerTooLarge(f"an answer of more than {self._most} bytes"))
        self._body += piece

    def on_message_complete(self) -> None:
        if self._headers is None:
            return
        self._answer = HttpAnswer(self._parser.get_status_code(), self._headers, bytes(self._body))
        self._is_whole = True
        self._headers = None
        self._body.clear()
