"""Whatever sink, watch, plug-ins and sizes do, observers return at once and the recording goes on."""

from collections.abc import Iterable, Sequence
from threading import Event

import pytest

from tests.capture.recordings import Call, ToldSink, ToldWatch, until, user, words_event
from weaklink.inspector.capture import live_parser
from weaklink.inspector.capture.event_buffer import MAX_REQUEST_BYTES
from weaklink.inspector.capture.events import RECORDING_PART, RecordEvent, TurnEnded
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.model import BodyState, Chunk, Span, ToolCall, ToolDefinition, Trace, Turn
from weaklink.inspector.sessions.exchange import ExchangeEnd, RequestHead


class StuckSink(ToldSink):
    """Takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_stuck, self.go = Event(), Event()

    def accept(self, event: RecordEvent) -> None:
        self.is_stuck.set()
        assert self.go.wait(20)
        super().accept(event)


class FullSink(ToldSink):
    """Refuses the first events, as a full disk does."""

    refuses = 3

    def accept(self, event: RecordEvent) -> None:
        if self.refuses:
            self.refuses -= 1
            raise OSError(28, "No space left on device\nINSERT INTO turn VALUES ('secret words')")
        self.events.append(event)


class RudeWatch(ToldWatch):
    """Fails whenever a span closes."""

    def span_closed(self, key: str, turn: int, part: str, span: Span, calls: Sequence[ToolCall]) -> None:
        raise RuntimeError("the screen is gone")


def said_of(turn: Turn) -> str:
    part = turn.part(RECORDING_PART)
    return part.text if part is not None else ""


def test_what_a_stuck_sink_keeps_waiting_is_bounded_and_the_turn_says_what_is_missing() -> None:
    sink, watch = StuckSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch, max_waiting_bytes=200_000)
    call = Call(recorder, [user("Hi")]).answered().said("Good")
    assert sink.is_stuck.wait(20)
    for _ in range(5_000):
        call.said("more")
    late = Call(recorder, [user("Ho")], client="late").answered().said("late")
    assert recorder.dropped_bytes > 500_000
    assert recorder.dropped_exchanges == 1
    sink.go.set()
    until(lambda: bool(watch.troubles))
    late.done()
    call.done()
    recorder.close()
    sink.close()
    trace = sink.recorded()[0]
    turn = trace.turns[-1]
    assert turn.generation is not None
    assert turn.generation.body is BodyState.NOT_STORED
    assert turn.parts[0].text.startswith("Goodmoremore")
    assert 300 < turn.parts[0].text.count("more") < 1500
    assert "were dropped" in said_of(turn)
    assert len(watch.troubles) == 1
    assert watch.troubles[0].startswith("Traffic arrives faster than it can be recorded: ")
    assert watch.ended[0].faults == {}


def test_after_a_gap_unrecorded_exchanges_are_recorded_whole() -> None:
    sink = StuckSink()
    recorder = Recorder(sink, max_waiting_bytes=100_000)
    call = Call(recorder, [user("Hi")]).answered()
    assert sink.is_stuck.wait(20)
    call.said("x" * 200_000)
    sink.go.set()
    call.done()
    until(lambda: any(isinstance(event, TurnEnded) and event.turn == 2 for event in sink.events))
    Call(recorder, [user("Ho")], client="other").answered().said("Good day").done()
    recorder.close()
    assert [trace.turns[-1].parts[0].text for trace in sink.recorded()] == ["", "Good day"]


def test_a_sink_that_refuses_is_counted_and_told_once_a_minute_without_what_it_was_given() -> None:
    sink, watch = FullSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    Call(recorder, [user("Hi")]).answered().said("Good day").done()
    recorder.close()
    assert recorder.refused_events == 3
    assert sink.events
    assert watch.troubles == [
        "The sink refused a record event (1 so far): OSError: [Errno 28] No space left on device."
    ]
    assert len(watch.ended) == 1


def test_a_watch_that_fails_is_told_so_and_the_recording_goes_on() -> None:
    sink, watch = ToldSink(), RudeWatch()
    recorder = Recorder(sink, watch=watch)
    Call(recorder, [user("Hi")]).answered().said("Good day").done()
    recorder.close()
    sink.close()
    assert watch.troubles == ["An observer of the recording failed: RuntimeError: the screen is gone."]
    assert recorder.failures == 1
    assert len(watch.ended) == 1


def test_a_format_that_fails_ends_the_reading_of_its_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        """A plug-in's parser."""

        def __init__(self, *_: object, **__: object) -> None:
            raise ValueError("a plug-in failed")

    sink, watch = ToldSink(), ToldWatch()
    monkeypatch.setattr(live_parser, "Segmenter", Failing)
    recorder = Recorder(sink, watch=watch)
    Call(recorder, [user("Hi")]).answered().said("Good", " day").done()
    recorder.close()
    sink.close()
    assert sink.recorded()[0].turns[-1].parts[0].text == "Good day"
    assert watch.troubles == ["A running answer could not be checked for faults: ValueError: a plug-in failed."]
    assert len(watch.ended) == 1


def test_a_redactor_that_fails_loses_its_exchange_and_no_other() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch, redactor=_Picky())
    Call(recorder, [user("secret")], client="a").answered().said("Good day").done()
    Call(recorder, [user("plain")], client="b").answered().said("Good day").done()
    recorder.close()
    assert [trace.turns[0].parts[0].text for trace in sink.recorded() if trace.turns] == ["plain"]
    assert sink.ended == sink.traces.keys()
    assert watch.troubles == ["An exchange could not be recorded: ValueError: this cannot be redacted."]
    assert [bool(facts.key) for facts in watch.ended] == [False, True]


def test_an_answer_beyond_its_bound_keeps_its_beginning() -> None:
    sink = ToldSink()
    recorder = Recorder(sink, max_answer_bytes=1_000)
    Call(recorder, [user("Hi")]).answered().said(*["word "] * 100).done()
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    assert 0 < turn.parts[0].text.count("word") < 10
    assert said_of(turn) == "Only 1000 bytes of an answer are kept; this one is longer."
    assert turn.generation is not None
    assert turn.generation.body is BodyState.NOT_STORED


def test_a_request_beyond_its_bound_is_recorded_by_its_path_and_its_answer() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    observer = recorder.began(RequestHead("POST", "/v1/chat/completions"))
    piece = bytes(MAX_REQUEST_BYTES // 4)
    for _ in range(5):
        observer.request_arrived(piece)
    observer.answer_began(200, (("Content-Type", "text/event-stream"),), None)
    observer.answer_arrived(words_event("Good day"), None)
    observer.ended(ExchangeEnd.COMPLETE, None)
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    assert turn.parts[0].text == "Good day"
    assert said_of(turn) == f"The request's body was not kept: {len(piece)} bytes of it were dropped."


def test_an_answer_is_not_held_for_a_request_that_does_not_come_to_its_end() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    observer = recorder.began(RequestHead("POST", "/v1/chat/completions"))
    observer.request_arrived(b'{"model": "m", "messages": [{"role": "user", ')
    observer.answer_began(200, (("Content-Type", "text/event-stream"),), None)
    for _ in range(500):
        observer.answer_arrived(words_event("word " * 2_000), None)
    until(lambda: bool(sink.chunks))
    observer.ended(ExchangeEnd.CLIENT_LEFT, None)
    recorder.close()
    turn = sink.recorded()[0].turns[-1]
    assert turn.parts[0].text.count("word") == 1_000_000
    assert said_of(turn) == "The request's body is not a JSON object."


class _Picky:
    """Fails at one word."""

    count = 0
    keeps_content = True

    def text(self, text: str) -> str:
        return text

    def url(self, url: str) -> str:
        return url

    def turn(self, turn: Turn) -> Turn:
        if any("secret" in part.text for part in turn.parts):
            raise ValueError("this cannot be redacted")
        return turn

    def trace(self, trace: Trace) -> Trace:
        return trace

    def new_turn(self, tools: Iterable[ToolDefinition] = ()) -> "_Picky":
        return self

    def feed(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunks)

    def close(self) -> tuple[Chunk, ...]:
        return ()
