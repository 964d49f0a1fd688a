"""Who follows a store is told, by another process's writes alone, what its recorder was told."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.storage.samples import BAD_CALL, GOOD_CALL, inspected, trace
from tests.storage.test_live import WHOLE, chunks_of, events_of, streamed
from weaklink.inspector.capture.events import (
    ChunksArrived,
    RecordEvent,
    TraceEnded,
    TraceStarted,
    TurnEnded,
    TurnStarted,
)
from weaklink.inspector.capture.trace_file_sink import TraceAssembler
from weaklink.inspector.model import Part, Role, Trace, Turn
from weaklink.storage.filter import FilterError
from weaklink.storage.live import StoreSink
from weaklink.storage.store import Store


@pytest.fixture
def sink(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreSink]:
    """A sink that writes only when told."""
    monkeypatch.setattr("weaklink.storage.live._EVERY_S", 1e6)
    opened = StoreSink(store)
    yield opened
    opened.close()


def _kinds(events: list[RecordEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def _gathered(events: list[RecordEvent]) -> dict[str, Trace]:
    trace_assemblers: dict[str, TraceAssembler] = {}
    for event in events:
        trace_assemblers.setdefault(event.key, TraceAssembler()).add(event)
    return {key: assembler.trace() for key, assembler in trace_assemblers.items()}


def _text(events: list[RecordEvent], turn: int) -> str:
    came = [event for event in events if isinstance(event, ChunksArrived) and event.turn == turn]
    return "".join(chunk.text for event in came for chunk in event.chunks)


def _give(sink: StoreSink, *events: RecordEvent) -> None:
    for event in events:
        sink.accept(event)
    sink.flush()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("every", [1, 3, 1000])
@pytest.mark.parametrize("looks", [1, 3, 1000])
def test_all_that_is_recorded_is_told_however_often_one_looks(
    store: Store, sink: StoreSink, every: int, looks: int
) -> None:
    following = store.follow()
    told: list[RecordEvent] = []
    for count, event in enumerate(events_of(WHOLE, known=1), 1):
        sink.accept(event)
        if count % every == 0:
            sink.flush()
        if count % looks == 0:
            told += following.poll()
    sink.flush()
    told += following.poll()
    assert _gathered(told) == {"1": WHOLE}
    assert [_text(told, number) for number in (2, 3)] == [GOOD_CALL, BAD_CALL]
    assert [_kinds(told).count(kind) for kind in ("TraceStarted", "TurnStarted", "TurnEnded", "TraceEnded")] == [
        *(1, 3, 3, 1)
    ]
    assert following.poll() == []


def test_a_turn_is_told_piece_by_piece_with_its_times(store: Store, sink: StoreSink) -> None:
    following = store.follow()
    chunks = chunks_of("The weather in Oslo is fine.")
    _give(sink, TraceStarted("k", replace(WHOLE, turns=())), TurnStarted("k", 1, Role.ASSISTANT))
    assert _kinds(following.poll()) == ["TraceStarted", "TurnStarted"]
    for chunk in chunks:
        _give(sink, ChunksArrived("k", 1, (chunk,)))
        assert following.poll() == [ChunksArrived("1", 1, (chunk,))]
        assert following.poll() == []


def test_what_ended_before_is_told_only_from_the_start(store: Store, sink: StoreSink) -> None:
    told = events_of(WHOLE, known=1)
    second_ended = next(number for number, event in enumerate(told, 1) if isinstance(event, TurnEnded))
    _give(sink, *told[:second_ended])
    _give(sink, TurnStarted("k", 3, Role.ASSISTANT), ChunksArrived("k", 3, chunks_of("begun")))
    late, early = store.follow().poll(), store.follow(from_start=True).poll()
    assert _kinds(late) == ["TraceStarted", "TurnStarted", "ChunksArrived"]
    assert [event.turn for event in early if isinstance(event, TurnEnded)] == [1, 2]
    assert _text(late, 3) == _text(early, 3) == "begun"
    for most, known in ((0, []), (1, [2]), (2, [1, 2]), (9, [1, 2])):
        some = store.follow(from_start=True, most=most).poll()
        assert [event.turn for event in some if isinstance(event, TurnEnded)] == known
        assert _text(some, 3) == "begun"


def test_turns_that_are_open_beside_each_other_keep_their_numbers(store: Store, sink: StoreSink) -> None:
    following = store.follow()
    texts = {number: f"answer {number} " * 9 for number in (1, 2, 3, 4)}
    turns = {number: Turn(Role.ASSISTANT, (Part("text", text),)) for number, text in texts.items()}
    told: list[RecordEvent] = []

    def give(*events: RecordEvent) -> None:
        _give(sink, *events)
        told.extend(following.poll())

    give(TraceStarted("k", Trace(())))
    for number in (2, 1, 4):
        give(TurnStarted("k", number, Role.ASSISTANT))
    for index in range(3):
        for number in (4, 1, 2):
            give(ChunksArrived("k", number, (chunks_of(texts[number], 5)[index],)))
    give(TurnStarted("k", 3, Role.ASSISTANT), ChunksArrived("k", 3, chunks_of(texts[3], 5)))
    for number in (3, 1, 4, 2):
        give(TurnEnded("k", number, turns[number]))
    give(TraceEnded("k"))
    assert [event.turn for event in told if isinstance(event, TurnEnded)] == [3, 1, 4, 2]
    assert [event.turn for event in told if isinstance(event, TurnStarted)] == [2, 1, 4, 3]
    assert [_text(told, number) for number in (1, 2, 3, 4)] == list(texts.values())
    assert _gathered(told)["1"].turns == tuple(turns.values())


def test_the_last_words_of_a_turn_that_was_kept_whole_are_told(store: Store, sink: StoreSink) -> None:
    following = store.follow()
    _give(sink, TurnStarted("k", 1, Role.ASSISTANT), ChunksArrived("k", 1, chunks_of("The weather")))
    told = following.poll()
    _give(sink, TurnEnded("k", 1, Turn(Role.ASSISTANT, (Part("text", "The weather is fine."),))))
    told += following.poll()
    assert _text(told, 1) == "The weather is fine."


@pytest.mark.slow
def test_interleaved_traces_are_told_apart(store: Store, sink: StoreSink) -> None:
    following = store.follow()
    wholes = [streamed(trace(f"s{n}", GOOD_CALL, BAD_CALL, words=f"question {n}")) for n in range(60)]
    told: list[RecordEvent] = []
    for row in zip(*(events_of(whole, f"k{n}") for n, whole in enumerate(wholes)), strict=True):
        _give(sink, *row)
        told += following.poll()
    while more := following.poll():
        told += more
    assert [followed.name for followed in _gathered(told).values()] == [followed.name for followed in wholes]
    assert list(_gathered(told).values()) == wholes


def test_a_filter_lets_a_trace_through_once_it_matches_and_then_whole(store: Store, sink: StoreSink) -> None:
    every, faulty, words, other = map(store.follow, ("", "code:J104", "Oslo get_weather", "model:gpt*"))
    told: dict[str, list[list[str]]] = {"faulty": [], "words": []}
    events = events_of(WHOLE)
    for event in events:
        _give(sink, event)
        told["faulty"].append(_kinds(faulty.poll()))
        told["words"].append(_kinds(words.poll()))
        assert other.poll() == []
    first = {name: next(index for index, kinds in enumerate(rounds) if kinds) for name, rounds in told.items()}
    ends = [index for index, event in enumerate(events) if isinstance(event, TurnEnded)]
    assert first == {"faulty": ends[2], "words": ends[1]}
    for kinds_by_round in told.values():
        assert sum(kinds.count("TurnEnded") for kinds in kinds_by_round) == 3
    assert _gathered(every.poll()) == {"1": WHOLE}


def test_words_under_or_and_not_are_read_in_the_texts_of_what_is_recorded(store: Store, sink: StoreSink) -> None:
    asked = ("nowhere or Oslo", "-nowhere tool:get_weather", "not Oslo model:gpt*", "(nowhere or code:J104) status:*")
    followings = [store.follow(name) for name in asked]
    _give(sink, *events_of(WHOLE))
    assert [bool(following.poll()) for following in followings] == [True, True, False, True]


def test_a_trace_that_was_saved_whole_is_told_with_its_end(store: Store) -> None:
    store.save(inspected(trace("before", GOOD_CALL)))
    following = store.follow(from_start=True)
    assert following.poll() == []
    saved = [trace(f"s{n}", GOOD_CALL) for n in range(120)]
    store.save(inspected(*saved))
    told: list[RecordEvent] = []
    while more := following.poll():
        told += more
    assert list(_gathered(told).values()) == saved
    assert _kinds(told).count("TraceEnded") == 120


def test_a_trace_that_is_deleted_ends(store: Store, sink: StoreSink) -> None:
    following = store.follow()
    _give(sink, TraceStarted("k", trace("a", GOOD_CALL)), TurnStarted("k", 3, Role.ASSISTANT))
    following.poll()
    store.delete([1])
    assert following.poll() == [TraceEnded("1")]
    assert following.poll() == []


def test_a_trace_that_was_there_already_ends(store: Store, sink: StoreSink) -> None:
    store.save(inspected(WHOLE))
    following = store.follow()
    told: list[RecordEvent] = []
    for event in events_of(WHOLE):
        _give(sink, event)
        told += following.poll()
    assert [event.key for event in told if isinstance(event, TraceEnded)] == ["2"]
    assert [summary.id for summary in store.traces()] == [1]


def test_a_filter_that_cannot_be_read_is_refused(store: Store) -> None:
    with pytest.raises(FilterError, match="status must be one of"):
        store.follow("status:strange")
