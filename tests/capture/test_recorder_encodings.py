"""Bodies that come compressed are decoded for the record, wherever their bytes are cut or end."""

import gzip
import sys
import zlib

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest

from tests.capture.recordings import Call, ToldSink, delta_event, user, words_event
from weaklink.inspector.capture.events import RECORDING_PART
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.model import BodyState
from weaklink.inspector.sessions.exchange import ExchangeEnd, RequestHead

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PLAIN = b"".join((words_event("Good "), words_event("day, größe 🙂"), delta_event({}, "stop"), b"data: [DONE]\n\n"))
ENCODED = {
    "gzip": gzip.compress(PLAIN),
    "deflate": zlib.compress(PLAIN),
    "br": brotli.compress(PLAIN),
    "zstd": zstd.compress(PLAIN),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_no_cut_of_an_encoded_body_matters(encoding: str) -> None:
    raw, sink = ENCODED[encoding], ToldSink()
    recorder = Recorder(sink)
    for index in range(len(raw) + 1):
        call = Call(recorder, [user("Hi")], client=f"{index}").answered(encoding=encoding)
        call.sent(raw[:index], raw[index:]).ended(ExchangeEnd.COMPLETE)
    recorder.close()
    sink.close()
    (turns,) = {trace.turns for trace in sink.recorded()}
    assert [part.text for part in turns[-1].parts] == ["Good day, größe 🙂"]


@pytest.mark.parametrize("encoding", ENCODED)
def test_an_encoded_body_that_breaks_off_keeps_what_could_be_unpacked(encoding: str) -> None:
    raw, sink = ENCODED[encoding], ToldSink()
    recorder = Recorder(sink)
    for end in range(1, len(raw) - 12):
        call = Call(recorder, [user("Hi")], client=f"{end}").answered(encoding=encoding)
        call.sent(raw[:end]).ended(ExchangeEnd.UPSTREAM_DROPPED)
    recorder.close()
    sink.close()
    for trace in sink.recorded():
        turn = trace.turns[-1]
        assert turn.generation is not None
        assert turn.generation.body in (BodyState.TRUNCATED, BodyState.COMPLETE)
        text = turn.part("text")
        assert text is None or "Good day, größe 🙂".startswith(text.text)


def test_what_is_wrong_with_an_encoding_is_said_in_the_turn() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    call = Call(recorder, [user("Hi")]).answered(encoding="gzip")
    call.sent(ENCODED["gzip"][:-20]).ended(ExchangeEnd.UPSTREAM_DROPPED)
    recorder.close()
    part = sink.recorded()[0].turns[-1].part(RECORDING_PART)
    assert part is not None
    assert "gzip" in part.text


def test_a_request_may_be_encoded_too() -> None:
    sink = ToldSink()
    recorder = Recorder(sink)
    body = zstd.compress(b'{"model": "m", "input": "Hi", "stream": true}')
    headers = (("Content-Encoding", "zstd"), ("Content-Length", str(len(body))))
    observer = recorder.began(RequestHead("POST", "/v1/responses", headers))
    observer.request_arrived(body)
    observer.ended(ExchangeEnd.NOT_CONNECTED, None)
    recorder.close()
    (trace,) = sink.recorded()
    assert [part.text for turn in trace.turns for part in turn.parts] == ["Hi", ""]
