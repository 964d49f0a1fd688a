"""However an exchange ends, its turn holds what came of it and says how it ended."""

import pytest

from tests.capture.recordings import Call, ToldSink, ToldWatch, until, user
from weaklink.inspector.capture.events import RECORDING_PART
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import BodyState, ErrorPhase, Generation, Trace, Turn
from weaklink.inspector.sessions.exchange import ExchangeEnd, RequestHead


def only(sink: ToldSink) -> tuple[Trace, Turn, Generation]:
    sink.close()
    (trace,) = sink.recorded()
    turn = trace.turns[-1]
    assert turn.generation is not None
    return trace, turn, turn.generation


@pytest.mark.parametrize(
    ("end", "phase", "reason"),
    [
        (ExchangeEnd.UPSTREAM_DROPPED, ErrorPhase.TRANSPORT, "connection"),
        (ExchangeEnd.TIMED_OUT, ErrorPhase.TRANSPORT, "connection"),
        (ExchangeEnd.CLIENT_LEFT, ErrorPhase.CLIENT_ABORT, "client"),
    ],
)
def test_a_stream_that_breaks_is_an_aborted_turn_with_its_partial_text(
    end: ExchangeEnd, phase: ErrorPhase, reason: str
) -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    call = Call(recorder, [user("Hi")]).answered().said("Good", " da").sent(b'data: {"choi')
    call.ended(end, message="it broke")
    recorder.close()
    trace, turn, generation = only(sink)
    assert turn.parts[0].text == "Good da"
    assert generation.error is not None
    assert (generation.error.phase, generation.error.message) == (phase, "it broke")
    assert generation.body is BodyState.TRUNCATED
    chain = inspect_trace(trace).chain
    assert (chain.status, chain.abort_reason) == ("aborted", reason)
    assert (watch.ended[0].end, dict(watch.ended[0].faults)) == (end, {"C504": 1})


@pytest.mark.parametrize("end", [ExchangeEnd.CLIENT_LEFT, ExchangeEnd.UPSTREAM_DROPPED])
def test_a_client_that_leaves_at_the_last_event_has_the_whole_answer(end: ExchangeEnd) -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    call = Call(recorder, [user("Hi")]).answered().said("Good day")
    call.sent(b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n').ended(end)
    recorder.close()
    _, _, generation = only(sink)
    assert (generation.error, generation.body) == (None, BodyState.COMPLETE)
    assert watch.ended[0].end is end


def test_an_answer_that_never_came_is_a_turn_with_its_error() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    Call(recorder, [user("Hi")]).ended(ExchangeEnd.NOT_CONNECTED, message="Connection refused")
    recorder.close()
    _, turn, generation = only(sink)
    assert [part.text for part in turn.parts] == [""]
    assert generation.error is not None
    assert (generation.error.phase, generation.error.message) == (ErrorPhase.CONNECT, "Connection refused")
    assert (watch.ended[0].status, watch.ended[0].first_token_s) == (None, None)


@pytest.mark.parametrize(
    ("status", "body", "end", "words"),
    [
        (429, b'{"error": {"message": "Slow down", "code": "rate"}}', ExchangeEnd.COMPLETE, "Slow down"),
        (500, b"<html>oh no</html>", ExchangeEnd.COMPLETE, "<html>oh no</html>"),
        (
            529,
            b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
            ExchangeEnd.COMPLETE,
            "Overloaded",
        ),
        (502, b"", ExchangeEnd.COMPLETE, "The server answered with status 502 and no message."),
        (
            429,
            b"",
            ExchangeEnd.CLIENT_LEFT,
            "The server answered with status 429, and its message did not arrive. The client left.",
        ),
    ],
)
def test_an_http_error_is_a_turn_with_that_error(status: int, body: bytes, end: ExchangeEnd, words: str) -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    call = Call(recorder, [user("Hi")]).answered(status, kind="application/json")
    call.sent(*([body] if body else [])).ended(
        end, message="" if body or end is ExchangeEnd.COMPLETE else "The client left."
    )
    recorder.close()
    _, _, generation = only(sink)
    assert generation.error is not None
    assert (generation.error.phase, generation.error.status) == (ErrorPhase.HTTP, status)
    assert generation.error.message == words
    assert dict(watch.ended[0].faults) == {"C505": 1}


def test_a_request_is_repeated_under_its_first_attempt() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    Call(recorder, [user("Hi")]).answered(500, kind="text/plain").sent(b"oops").ended(ExchangeEnd.COMPLETE)
    Call(recorder, [user("Hi")], at_s=1_700_000_010).answered().said("Good day").done()
    recorder.close()
    trace, _, generation = only(sink)
    assert len(trace.turns) == 3
    assert generation.attempt == 2
    assert generation.retry_of is not None


def test_an_error_inside_a_stream_that_began_well_is_the_turns_error() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    call = Call(recorder, [user("Hi")]).answered().said("Good")
    call.sent(b'data: {"error": {"message": "out of memory"}}\n\n').ended(ExchangeEnd.COMPLETE)
    recorder.close()
    _, turn, generation = only(sink)
    assert turn.parts[0].text == "Good"
    assert generation.error is not None
    assert generation.error.phase is ErrorPhase.IN_STREAM
    assert watch.ended[0].faults == {"C508": 1}


def test_closing_ends_what_runs_where_it_is() -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    call = Call(recorder, [user("Hi")]).answered().said("Good", " da")
    other = Call(recorder, [user("Ho")], client="other")
    recorder.close()
    sink.close()
    told = len(sink.events)
    call.said("y").done()
    other.answered().said("no").done()
    Call(recorder, [user("Hi")]).answered().said("late").done()
    recorder.close()
    assert len(sink.events) == told
    good, none = sink.recorded()
    assert good.turns[-1].parts[0].text == "Good da"
    assert none.turns[-1].parts[0].text == ""
    for trace in (good, none):
        generation, why = trace.turns[-1].generation, trace.turns[-1].part(RECORDING_PART)
        assert generation is not None
        assert generation.body is BodyState.NOT_STORED
        assert why is not None
        assert why.text == "The recorder was closed during the exchange."


def test_a_request_whose_body_is_no_json_says_so_in_the_turn_of_its_answer() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    observer = recorder.began(RequestHead("POST", "/v1/chat/completions", (("Content-Length", "5"),)))
    observer.request_arrived(b'{"mes')
    observer.answer_began(400, (), None)
    observer.answer_arrived(b'{"error": {"message": "bad JSON"}}', None)
    observer.ended(ExchangeEnd.COMPLETE, None)
    recorder.close()
    _, turn, generation = only(sink)
    assert generation.error is not None
    assert generation.error.message == "bad JSON"
    assert [part.text for part in turn.parts if part.name == RECORDING_PART] == [
        "The request's body is not a JSON object."
    ]


def test_a_request_without_an_announced_length_has_its_place_when_the_answer_begins() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    observer = recorder.began(RequestHead("POST", "/v1/chat/completions"))
    observer.request_arrived(b'{"model": "m", "messages": [{"role": "user", ')
    observer.request_arrived(b'"content": "Hi"}]}')
    observer.answer_began(200, (), None)
    until(lambda: bool(sink.open))
    observer.answer_arrived(b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\n', None)
    observer.ended(ExchangeEnd.COMPLETE, None)
    recorder.close()
    trace, turn, _ = only(sink)
    assert [part.text for recorded in trace.turns for part in recorded.parts] == ["Hi", "Hello"]
    assert turn.parts[0].chunks is not None
    assert turn.parts[0].chunks.offsets_s is None


def test_an_answer_that_begins_before_its_request_has_come_waits_for_it() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    observer = recorder.began(RequestHead("POST", "/v1/chat/completions"))
    observer.request_arrived(b'{"model": "m", "messages": [{"role": "user", ')
    observer.answer_began(200, (), None)
    observer.answer_arrived(b'data: {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\n', None)
    observer.request_arrived(b'"content": "Hi"}]}')
    observer.ended(ExchangeEnd.COMPLETE, None)
    recorder.close()
    trace, _, _ = only(sink)
    assert [part.text for turn in trace.turns for part in turn.parts] == ["Hi", "Hello"]
