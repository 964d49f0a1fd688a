"""The recorder over transcripts: what it tells is what an import of the same exchanges gives, however they are cut."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.capture.recordings import Cut, ToldSink, ToldWatch, play, whole
from tests.sessions.transcripts import EPOCH_S, plain, read_case
from weaklink.inspector.apis.providers import decoder_for, parse_request
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.model import Trace
from weaklink.inspector.sessions.exchange import Exchange, RequestHead
from weaklink.inspector.sessions.gathering import traces_of
from weaklink.inspector.wire.decoder import decode_answer

DATA = Path(__file__).parent.parent / "cases"
LOGS_ONLY = {"body_not_kept"}  # only a log knows how an answer ended that it has not
CASES = sorted(path for path in (DATA / "sessions").glob("*.exchanges") if path.stem not in LOGS_ONLY)
REQUESTS: dict[str, tuple[str, bytes]] = {
    "openai_chat": ("/v1/chat/completions", b'{"model": "m", "stream": true, "messages": []}'),
    "messages": ("/v1/messages", b'{"model": "m", "stream": true, "messages": []}'),
    "completions": ("/v1/completions", b'{"model": "m", "stream": true, "prompt": "a"}'),
    "responses": ("/v1/responses", b'{"model": "m", "stream": true, "input": "a"}'),
    "ollama.chat": ("/api/chat", b'{"model": "m", "messages": []}'),
    "ollama.generate": ("/api/generate", b'{"model": "m", "prompt": "a"}'),
    "generate_content": ("/v1beta/models/m:streamGenerateContent", b'{"contents": []}'),
}
BODIES = sorted(path for api in REQUESTS for path in (DATA / "wire" / api).glob("*.body"))
NAMES = [f"{path.parent.name}/{path.stem}" for path in BODIES]


def recorded(exchanges: Iterable[Exchange], cut: Cut = whole) -> list[Trace]:
    sink, watch = ToldSink(), ToldWatch()
    recorder = Recorder(sink, watch=watch)
    play(recorder, exchanges, cut=cut)
    recorder.close()
    sink.close()
    assert watch.troubles == []
    assert recorder.failures == 0
    return sink.recorded()


def facts_of(traces: list[Trace]) -> list[dict[str, Any]]:
    """Traces as goldens have them, without what their source alone says of itself."""
    return [{**plain_trace, "own_id": "", "record": "", "warnings": []} for plain_trace in plain(traces)]


def exchange(body: Path, *pieces: bytes, client: str = "") -> Exchange:
    target, request = REQUESTS[body.parent.name]
    head = RequestHead("POST", target, client=client, at_s=EPOCH_S)
    return Exchange(head, request, 200, (), tuple((EPOCH_S + 1, raw) for raw in pieces), ended_s=EPOCH_S + 2)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_what_is_recorded_is_what_an_import_of_the_same_exchanges_gives(case: Path, size: int | None) -> None:
    exchanges = read_case(case)
    imported = [trace for trace in traces_of(exchanges) if isinstance(trace, Trace)]

    def cut(raw: bytes) -> Iterable[bytes]:
        return (
            [raw[index : index + (size or len(raw))] for index in range(0, len(raw), size or len(raw))]
            if raw
            else [raw]
        )

    assert facts_of(recorded(exchanges, cut)) == facts_of(imported)


@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_an_answer_of_any_api_is_recorded_as_its_decoder_reads_it(body: Path) -> None:
    raw = body.read_bytes()
    target, request = REQUESTS[body.parent.name]
    decoder = decoder_for(target, parse_request(request), status=200)
    decoded = decode_answer(decoder, [(EPOCH_S + 1, raw)], started_s=EPOCH_S).turn
    (trace,) = recorded([exchange(body, raw)])
    assert (trace.turns[-1].parts, trace.turns[-1].calls) == (decoded.parts, decoded.calls)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_an_answer_that_comes_byte_by_byte_is_recorded_as_if_it_came_at_once(body: Path) -> None:
    raw = body.read_bytes()
    sizes = (max(len(raw), 1), 1, 2, 7)
    cuts = [[raw[index : index + size] for index in range(0, len(raw), size)] for size in sizes]
    (turns,) = {trace.turns for trace in recorded(exchange(body, *cut, client=f"{len(cut)}") for cut in cuts)}
    assert turns


@pytest.mark.one_in(9)
@pytest.mark.parametrize("api", REQUESTS)
def test_no_cut_matters(api: str) -> None:
    body = next(path for path in BODIES if path.parent.name == api and path.stem not in ("whole", "empty"))
    raw = body.read_bytes()
    cuts = [exchange(body, raw[:index], raw[index:], client=f"{index}") for index in range(len(raw) + 1)]
    (turns,) = {trace.turns for trace in recorded(cuts)}
    assert turns == recorded([exchange(body, raw)])[0].turns
