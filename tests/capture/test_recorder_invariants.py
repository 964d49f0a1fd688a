"""Whatever bytes come, cut and ended anyhow: the recorder has no failure, and every turn that begins ends."""

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.capture.recorder import Recorder
from inspector.sessions.exchange import Exchange, ExchangeEnd, RequestHead
from tests.capture.recordings import ToldSink, ToldWatch, play
from tests.capture.test_recorder import BODIES, REQUESTS
from tests.sessions.transcripts import EPOCH_S
from tests.strategies import texts

ANSWERS = [path.read_bytes() for path in BODIES]
ENCODINGS = ["", "identity", "gzip", "br", "zstd", "deflate", "gzip, br", "odd"]
TYPES = ["", "text/event-stream", "application/json", "application/x-ndjson", "text/html"]


@st.composite
def mutated(draw: st.DrawFn, bodies: list[bytes]) -> bytes:
    """A body with something cut out of it and something put in, or none at all."""
    raw = draw(st.sampled_from(bodies))
    start = draw(st.integers(0, len(raw)))
    end = draw(st.one_of(st.just(start), st.integers(start, len(raw))))
    put = draw(
        st.one_of(st.just(b""), st.binary(max_size=20), texts().map(lambda text: text.encode("utf-8", "replace")))
    )
    return raw[:start] + put + raw[end:]


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    at_s = draw(st.one_of(st.none(), st.floats(0, 100).map(lambda after_s: EPOCH_S + after_s)))
    target = draw(st.sampled_from([*(target for target, _ in REQUESTS.values()), "/v1/models", "/", ""]))
    head = RequestHead(draw(st.sampled_from(["POST", "GET"])), target, client=draw(st.sampled_from("ab")), at_s=at_s)
    raw = draw(mutated(ANSWERS))
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    headers = (
        ("Content-Type", draw(st.sampled_from(TYPES))),
        ("content-encoding", draw(st.sampled_from(ENCODINGS))),
    )
    return Exchange(
        head,
        draw(mutated([request for _, request in REQUESTS.values()])),
        draw(st.sampled_from([None, 200, 200, 200, 404, 529])),
        headers,
        tuple((at_s, piece) for piece in pieces),
        draw(st.sampled_from(list(ExchangeEnd))),
        at_s,
        draw(st.sampled_from(["", "it broke"])),
    )


@settings(max_examples=300)
@given(st.lists(exchanges(), max_size=4))
def test_nothing_that_comes_makes_the_recorder_fail(played: list[Exchange]) -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    play(recorder, played)
    recorder.close()
    sink.close()
    assert (watch.troubles, recorder.failures, recorder.refused_events) == ([], 0, 0)
    assert len(watch.ended) == len(played)
    assert sum(not facts.key for facts in watch.ended) == recorder.unrecorded_exchanges
