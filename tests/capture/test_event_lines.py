"""Record events survive the way over a wire, whatever their texts hold; what is no event is named with its line."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.capture.event_lines import EventLineError, event_line, header_line, read_events
from inspector.capture.events import ChunksArrived, RecordEvent, TraceEnded, TraceStarted, TurnEnded, TurnStarted
from inspector.model import Chunk, Outcome, Role
from tests.examples import in_the_gate
from tests.strategies import generations, texts, traces, turns

FLOATS = st.floats(allow_nan=False)
CHUNKS = st.builds(
    Chunk,
    st.integers(0, 2**40),
    texts(max_size=2),
    texts(max_size=4),
    st.none() | FLOATS,
    st.none() | st.lists(st.integers(0, 2**31), max_size=3).map(tuple),
    st.none() | st.lists(FLOATS, max_size=3).map(tuple),
)
KEYS, NUMBERS = texts(max_size=2), st.integers(1, 2**31)
OUTCOMES = st.builds(Outcome, st.none() | st.booleans(), st.none() | texts(max_size=2), st.none() | FLOATS)
EVENTS: st.SearchStrategy[RecordEvent] = st.one_of(
    st.builds(TraceStarted, KEYS, traces()),
    st.builds(TurnStarted, KEYS, NUMBERS, st.sampled_from(Role), st.none() | generations()),
    st.builds(ChunksArrived, KEYS, NUMBERS, st.lists(CHUNKS, max_size=3).map(tuple)),
    st.builds(TurnEnded, KEYS, NUMBERS, turns()),
    st.builds(TraceEnded, KEYS, st.none() | OUTCOMES),
)


def body(*events: RecordEvent) -> bytes:
    return (header_line() + "".join(map(event_line, events))).encode("ascii")


@pytest.mark.invariants
@in_the_gate(20)
@given(events=st.lists(EVENTS, max_size=4))
def test_every_event_survives(events: list[RecordEvent]) -> None:
    written = body(*events)
    assert written.count(b"\n") == len(events) + 1
    assert read_events(written) == events


def test_halves_of_a_pair_in_two_chunks_and_numbers_without_a_word_survive() -> None:
    chunks = (Chunk(0, "text", "\ud83d"), Chunk(1, "text", "\ude00\0\ud83d\ude00", -math.inf, (), (math.inf, -0.0)))
    (back,) = read_events(body(ChunksArrived("k", 1, chunks)))
    assert back == ChunksArrived("k", 1, chunks)
    (broken,) = read_events(body(ChunksArrived("k", 1, (Chunk(0, "text", "", math.nan),))))
    assert isinstance(broken, ChunksArrived)
    assert math.isnan(broken.chunks[0].offset_s or 0.0)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (b"", "Line 1: the events have no version"),
        (b"{}\n", "Line 1: the events have no version"),
        (b'{"weaklink_events": 2}\n', "Line 1: the events have version 2, but this weaklink reads version 1."),
        (b"\xff\n", "Line 1 is not ASCII JSON"),
        (body() + b"[]\n", "Line 2 is not a JSON object."),
        (body() + b"[" * 100_000, "Line 2 is not ASCII JSON"),
        (
            body(TraceEnded("k")) + b'{"event":"party","key":"k"}\n',
            "Line 3 is not a record event: Invalid value 'party'",
        ),
        (body() + b'{"event":"trace_ended"}\n', "Line 2 is not a record event: Object missing required field `key`"),
        (
            body() + b'{"event":"turn_ended","key":"k","turn":1,"value":{"role":"user","parts":'
            b'[{"name":"text","text":"ab","chunks":{"ends":[3],"sequences":[0]}}]}}\n',
            "Line 2 is not a record event: the ends of the chunks do not increase",
        ),
    ],
)
def test_what_is_no_event_is_named_with_its_line(written: bytes, says: str) -> None:
    with pytest.raises(EventLineError) as caught:
        read_events(written)
    assert str(caught.value).startswith(says)


@in_the_gate(20, most=200)
@given(text=texts())
def test_a_reader_of_anything_raises_nothing_else(text: str) -> None:
    with contextlib.suppress(EventLineError):
        read_events(body() + text.encode("utf-8", "surrogatepass"))
