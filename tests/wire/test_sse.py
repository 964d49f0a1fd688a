"""Server-sent events: the standard's own reading, nothing lost, and no cut that matters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.text import decode
from weaklink.inspector.wire.framing import ServerSentEvent, SseDecoder

STREAMS = [
    (b"data: a\n\n", [("a", "")]),
    (b"data:a\n\ndata:  b\n\n", [("a", ""), (" b", "")]),
    (b"data: a\r\n\r\ndata: b\r\r\ndata: c\n\r\n", [("a", ""), ("b", ""), ("c", "")]),
    (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("YHOO\n+2\n10", "")]),
    (b"data\n\ndata\ndata\n\ndata:", [("", ""), ("\n", ""), ("", "")]),
    (b"\xef\xbb\xbfevent: add\ndata: 73857293\n\n", [("73857293", "add")]),
    (b"\n\n\ndata: a\n\n\n\n", [(None, ""), ("a", ""), (None, "")]),
    (b": one\n:two\n\n", [(None, "")]),
    (b"id: 1\nretry: 10\ndata: a\nstray\n\n", [("a", "")]),
    (b"data: a\nevent: late\n\n", [("a", "late")]),
    (b'{"error": 1}\n', [(None, "")]),
    ("data: 東\U0001f5fc\n\n".encode(), [("東\U0001f5fc", "")]),
    (b"data: \xf0\x9f\x91\n\n", [("\udcf0\udc9f\udc91", "")]),
    (b"data: a\rdata: b\r", [("a\nb", "")]),
    (b"data: a\x00b\x85\n\n", [("a\0b\udc85", "")]),
]


def events(*pieces: bytes, limit: int = 1 << 20) -> list[ServerSentEvent]:
    decoder = SseDecoder(max_event_length=limit)
    server_events = [event for piece in pieces for event in decoder.feed(piece)]
    return server_events + decoder.close()


@pytest.mark.parametrize(("stream", "read"), STREAMS)
def test_a_stream_is_read_as_the_standard_says(stream: bytes, read: list[tuple[str | None, str]]) -> None:
    assert [(event.data, event.event) for event in events(stream)] == read


@pytest.mark.parametrize("stream", [stream for stream, _ in STREAMS])
def test_no_cut_matters(stream: bytes) -> None:
    whole = events(stream)
    assert events(*(stream[index : index + 1] for index in range(len(stream)))) == whole
    for position in range(len(stream) + 1):
        assert events(stream[:position], stream[position:]) == whole


def test_what_is_no_data_is_kept_too() -> None:
    (event,) = events(b": OPENROUTER PROCESSING\nid: 7\nretry: 10\nfoo: bar\n\n")
    assert (event.comments, event.id, event.retry, event.strays) == (
        (" OPENROUTER PROCESSING",),
        "7",
        "10",
        ("foo: bar",),
    )
    assert event.complete


def test_an_event_without_its_empty_line_is_not_complete() -> None:
    assert [event.complete for event in events(b"data: a\n\ndata: b\n")] == [True, False]
    assert [event.complete for event in events(b"data: a\n\n\n")] == [True, True]


def test_an_event_over_the_limit_comes_in_pieces() -> None:
    stream = b"data: " + b"x" * 100 + b"\n\ndata: y\n\n"
    server_events = events(stream, limit=40)
    assert [len(event.raw) for event in server_events] == [40, 40, 28, 9]
    assert [event.complete for event in server_events] == [False, False, True, True]
    assert server_events == events(*(stream[index : index + 1] for index in range(len(stream))), limit=40)


@pytest.mark.invariants
@given(
    pieces=st.lists(
        st.sampled_from(
            [b"data: ", b"data", b":", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"id", b"\xef\xbb\xbf", b"\xf0\x9f"]
        )
        | st.binary(max_size=3),
        max_size=20,
    ),
    limit=st.sampled_from([3, 10, 1 << 20]),
)
def test_raws_tile_every_stream_however_it_is_cut(pieces: list[bytes], limit: int) -> None:
    stream = b"".join(pieces)
    server_events = events(*pieces, limit=limit)
    assert "".join(event.raw for event in server_events) == decode(stream)
    assert server_events == events(stream, limit=limit)
    assert all(len(event.raw) <= limit for event in server_events)
