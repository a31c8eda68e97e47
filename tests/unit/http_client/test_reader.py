"""Answers, cut into every kind of pieces."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gorge_worker.http_client import AnswerTooLarge, HttpAnswer, NoAnswer
from gorge_worker.http_client.reader import MAX_HEAD, AnswerReader

CONTENT = bytes(range(256)) * 3
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunks(content: bytes, *sizes: int) -> bytes:
    out, rest = b"", content
    for size in (*sizes, len(content)):
        piece, rest = rest[:size], rest[size:]
        out += b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) if piece else b""
    return out + b"0\r\nTrailer: t\r\n\r\n"


WHOLE = {
    "by length": (LENGTH % len(CONTENT) + CONTENT, CONTENT),
    "chunked": (CHUNKED + chunks(CONTENT, 1, 100, 255), CONTENT),
    "empty": (LENGTH % 0, b""),
    "no content": (b"HTTP/1.1 204 No Content\r\nContent-Length: 99999\r\n\r\n", b""),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99999\r\n\r\n", b""),
    "interim": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" + LENGTH % 2 + b"ok", b"ok"),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", b"ok"),
}
MALFORMED = {
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "status below all": b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "length and chunks": CHUNKED[:-2] + b"Content-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "length below zero": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
    "length beyond reading": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nok",
    "bad chunk size": CHUNKED + b"zz\r\nok\r\n",
    "compressed": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "line break in a header": b"HTTP/1.1 200 OK\r\nA: b\rc\r\nContent-Length: 0\r\n\r\n",
    "NUL in a header": b"HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n",
    "another protocol is switched to": b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nx",
}

cuts = st.lists(st.integers(1, 1500), max_size=40)


def read(data: bytes, cuts: list[int], most: int = 1000) -> tuple[AnswerReader, HttpAnswer | None]:
    """What comes of the bytes, cut after so many each."""
    reader = AnswerReader()
    reader.begin(most)
    answer = None
    for size in [*cuts, len(data)]:
        piece, data = data[:size], data[size:]
        if piece:
            assert answer is None, "an answer was whole before its last byte"
            answer = reader.feed(piece)
    return reader, answer


@pytest.mark.parametrize("name", WHOLE)
@given(cuts=cuts)
@example(cuts=[1] * 2000)
def test_an_answer_is_the_same_however_it_is_cut(name: str, cuts: list[int]) -> None:
    data, content = WHOLE[name]
    reader, answer = read(data, cuts)
    assert answer is not None
    assert answer.body == content
    assert reader.reusable


@given(content=st.binary(max_size=1000), sizes=st.lists(st.integers(1, 300), max_size=10), cuts=cuts)
def test_any_content_comes_back_byte_for_byte(content: bytes, sizes: list[int], cuts: list[int]) -> None:
    for data in (LENGTH % len(content) + content, CHUNKED + chunks(content, *sizes)):
        _, answer = read(data, cuts)
        assert answer is not None
        assert answer.body == content


@given(content=st.binary(max_size=1000), cuts=cuts)
def test_an_answer_without_a_length_ends_with_the_connection(content: bytes, cuts: list[int]) -> None:
    reader, answer = read(b"HTTP/1.1 200 OK\r\n\r\n" + content, cuts)
    assert answer is None
    answer = reader.end()
    assert answer.body == content
    assert not reader.reusable


@pytest.mark.parametrize("name", WHOLE)
@given(data=st.data())
def test_an_answer_that_is_cut_short_is_none(name: str, data: st.DataObject) -> None:
    whole = WHOLE[name][0]
    kept = whole[: data.draw(st.integers(0, len(whole) - 1))]
    reader, answer = read(kept, [])
    assert answer is None
    with pytest.raises(NoAnswer, match="cut short" if kept else "before an answer came"):
        reader.end()


@pytest.mark.parametrize("name", MALFORMED)
@given(cuts=cuts)
@example(cuts=[1] * 10_000)
def test_what_is_not_http_is_no_answer(name: str, cuts: list[int]) -> None:
    with pytest.raises(NoAnswer):
        read(MALFORMED[name], cuts)


@given(data=st.binary(max_size=300), cuts=cuts)
def test_any_bytes_at_all_are_read_or_refused(data: bytes, cuts: list[int]) -> None:
    reader = AnswerReader()
    reader.begin(100)
    try:
        for size in [*cuts, len(data)]:
            piece, data = data[:size], data[size:]
            if reader.feed(piece):
                return
    except NoAnswer:
        return


@pytest.mark.parametrize("data", [LENGTH % 101 + b"x" * 101, CHUNKED + chunks(b"x" * 101, 50)])
@given(cuts=cuts)
def test_too_large_an_answer_is_refused_however_it_is_cut(data: bytes, cuts: list[int]) -> None:
    with pytest.raises(AnswerTooLarge, match="more than 100"):
        read(data, cuts, most=100)


def test_an_announced_answer_that_is_too_large_is_refused_before_its_body() -> None:
    with pytest.raises(AnswerTooLarge, match="an answer of 101 bytes, more than 100"):
        read(LENGTH % 101, [], most=100)


def test_an_answer_may_be_as_large_as_allowed() -> None:
    _, answer = read(LENGTH % 100 + b"x" * 100, [], most=100)
    assert answer is not None


ENDLESS = {
    "status line": (b"HTTP/1.1 200 ", b"x" * 1000),
    "header": (b"HTTP/1.1 200 OK\r\nA: ", b"x" * 1000),
    "header name": (b"HTTP/1.1 200 OK\r\n", b"x" * 1000),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"A: " + b"x" * 1000 + b"\r\n"),
    "empty headers": (b"HTTP/1.1 200 OK\r\n", b"A:\r\n" * 100),
    "interim answers": (b"", b"HTTP/1.1 103 Hints\r\n\r\n" * 20),
    "interim answers with headers": (b"", b"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" * 20),
    "content of an interim answer": (b"HTTP/1.1 199 Odd\r\nContent-Length: 9999999\r\n\r\n", b"x" * 1000),
    "chunk extension": (CHUNKED + b"1;", b"x" * 1000),
    "trailer": (CHUNKED + b"0\r\nA: ", b"x" * 1000),
    "trailers": (CHUNKED + b"0\r\n", b"A: " + b"x" * 1000 + b"\r\n"),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("cut", [7, 1000, 200_000])
def test_what_never_comes_to_an_end_is_refused(name: str, cut: int) -> None:
    first, again = ENDLESS[name]
    data = first + again * (16 * MAX_HEAD // len(again))
    with pytest.raises(NoAnswer, match=f"more than {MAX_HEAD} bytes"):
        read(data, [cut] * (len(data) // cut))


def test_headers_may_be_long() -> None:
    _, answer = read(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 60_000 + b"\r\nContent-Length: 0\r\n\r\n", [1000] * 60)
    assert answer is not None
    assert len(answer.headers["a"]) == 60_000


def test_headers_ignore_case_keep_their_order_and_any_bytes() -> None:
    _, answer = read(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nB: \xff\xc3\xa4\r\nContent-Length: 0\r\n\r\n", [])
    assert answer is not None
    assert answer.headers.getall("X-a") == ["1", "2"]
    assert answer.headers["b"] == "\udcffä"


def test_headers_of_interim_answers_and_trailers_are_not_the_answers() -> None:
    _, answer = read(WHOLE["interim"][0], [])
    assert answer is not None
    assert "Link" not in answer.headers
    _, answer = read(WHOLE["chunked"][0], [])
    assert answer is not None
    assert "Trailer" not in answer.headers


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        LENGTH % 2 + b"okHTTP",
        LENGTH % 2 + b"ok" + LENGTH % 2 + b"no",
        LENGTH % 2 + b"ok\0",
    ],
)
def test_not_every_connection_carries_more_than_one_answer(head: bytes) -> None:
    reader, answer = read(head, [])
    assert answer is not None
    assert answer.body == b"ok"
    assert not reader.reusable


def test_one_reader_reads_one_answer_after_the_other() -> None:
    reader = AnswerReader()
    for content in (b"first", b"", b"third"):
        reader.begin(5)
        answer = reader.feed(LENGTH % len(content) + content)
        assert answer is not None
        assert answer.body == content
