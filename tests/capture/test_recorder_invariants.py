"""Whatever bytes come, cut and ended anyhow: the recorder has no failure, and every turn that begins ends."""

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from tests.capture.recordings import Call, ToldSink, ToldWatch, play, user
from tests.capture.test_recorder import BODIES, REQUESTS
from tests.examples import in_the_gate
from tests.sessions.transcripts import EPOCH_S
from tests.strategies import texts
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.sessions.exchange import Exchange, ExchangeEnd, RequestHead

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


@in_the_gate(20, most=300)
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


@in_the_gate(20, most=300)
@given(texts(), st.lists(st.integers(1, 40), min_size=1, max_size=8), st.sampled_from(["hermes-4", "mine", "glm-4.5"]))
@example("</think></think></think>", [1], "hermes-4")
@example("<|im_start|>" * 5 + " and <|im_start|>", [7, 1], "hermes-4")
def test_what_is_told_of_a_running_answer_is_what_the_inspection_finds(said: str, sizes: list[int], model: str) -> None:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    call = Call(recorder, [user("Hi")], more={"model": model}).answered()
    index = 0
    for size in (*sizes, len(said)):
        call.said(said[index : index + size])
        index += size
    call.done()
    recorder.close()
    (trace,) = sink.recorded()
    unexpected = [
        diagnostic
        for diagnostic in inspect_trace(trace).diagnostics
        if diagnostic.location.turn == 2 and diagnostic.rule.code[0] in "JSFC"
    ]
    assert watch.ended[0].faults == Counter(diagnostic.rule.code for diagnostic in unexpected)
    assert {(fault.rule.code, fault.range) for fault in watch.faults} >= {
        (diagnostic.rule.code, diagnostic.range) for diagnostic in unexpected
    }
