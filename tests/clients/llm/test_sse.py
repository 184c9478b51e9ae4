from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.llm.sse import EventReader

STREAM = (
    b"\xef\xbb\xbf: OPENROUTER PROCESSING\r\n\r\n"
    b'data: {"a": 1}\n\n'
    b"event: message\rid: 7\rdata:two\rdata: lines\r\r"
    b": keep-alive\n\n\n\n"
    b"data\ndata: \xd0\xba\xd0\xbe\xd1\x82\r\n\r\n"
    b"retry: 10\n\n"
    b"data: [DONE]\n\n"
)
EVENTS = [b'{"a": 1}', b"two\nlines", b"\n\xd0\xba\xd0\xbe\xd1\x82", b"[DONE]"]


def read(*chunks: bytes) -> list[bytes]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.finish()


def test_only_data_is_given_out() -> None:
    assert read(STREAM) == EVENTS


def test_one_byte_at_a_time_reads_the_same() -> None:
    assert read(*(STREAM[i : i + 1] for i in range(len(STREAM)))) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_where_the_chunks_end_does_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]

    assert read(*(STREAM[a:b] for a, b in pairwise(edges))) == EVENTS


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_no_bytes_break_it(chunks: list[bytes]) -> None:
    for event in read(*chunks):
        assert b"\r" not in event


@pytest.mark.parametrize("tail", [b"data: last", b"data: last\n", b"data: last\r", b"data: last\r\n"])
def test_an_event_without_its_blank_line_is_given_at_the_end(tail: bytes) -> None:
    assert read(b"data: first\n\n", tail) == [b"first", b"last"]


def test_comments_and_blank_lines_are_silence() -> None:
    assert read(b": keep-alive\n\n" * 50, b"\n" * 50, b"event: ping\n\n") == []
