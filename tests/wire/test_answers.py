"""Answers of every API as transcripts: recorded bodies in, cut at every byte; turns and faults out."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tests.wire.transcripts import plain
from weaklink.inspector.apis.providers import PROVIDERS, Provider, decoder_for
from weaklink.inspector.model import Instant, InstantSource, StreamDetail
from weaklink.inspector.text import decode
from weaklink.inspector.wire.decoder import decode_answer
from weaklink.inspector.wire.events import PartGrew, TurnAssembly, WireEvent

CASES = Path(__file__).parent.parent / "cases" / "wire"
PATHS = {
    "messages": "/v1/messages",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "ollama.chat": "/api/chat",
    "ollama.generate": "/api/generate",
    "generate_content": "/v1beta/models/example-flash:streamGenerateContent",
}
BODIES = sorted(path for api in PATHS for path in (CASES / api).glob("*.body"))
NAMES = [f"{path.parent.name}/{path.stem}" for path in BODIES]


def events(path: str, *pieces: bytes) -> list[WireEvent]:
    decoder = decoder_for(path)
    wire_events = [event for piece in pieces for event in decoder.feed(piece)]
    return wire_events + decoder.close()


@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_a_recorded_body_gives_its_turn(body: Path, *, update_goldens: bool) -> None:
    golden = body.with_suffix(".json")
    got = plain(decode_answer(decoder_for(PATHS[body.parent.name]), [(None, body.read_bytes())]))
    text = json.dumps(got, indent=1) + "\n"
    if update_goldens:
        golden.write_text(text, encoding="ascii")
    assert text == golden.read_text(encoding="ascii"), "pytest --update-goldens rewrites the expected turns"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_no_cut_matters(body: Path) -> None:
    raw, path = body.read_bytes(), PATHS[body.parent.name]
    whole = events(path, raw)
    assert events(path, *(raw[index : index + 1] for index in range(len(raw)))) == whole
    for position in range(len(raw) + 1):
        assert events(path, raw[:position], raw[position:]) == whole


@pytest.mark.one_in(3)
@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_a_body_cut_off_anywhere_keeps_what_came(body: Path) -> None:
    raw, path = body.read_bytes(), PATHS[body.parent.name]
    whole = {part.name: part.text for part in decode_answer(decoder_for(path), [(None, raw)]).turn.parts}
    for end in range(0, len(raw), 3):
        for part in decode_answer(decoder_for(path), [(None, raw[:end])]).turn.parts:
            assert part.name.startswith("wire:") or whole.get(part.name, "").startswith(part.text)


# An error, and the wrapper of Code Assist, hold nothing that only their API has.
@pytest.mark.parametrize("body", [body for body in BODIES if body.stem not in {"array_error", "wrapped"}])
def test_an_answer_tells_its_api_where_nothing_else_does(body: Path) -> None:
    raw = body.read_bytes()
    decoder = decoder_for()
    wire_events = decoder.feed(raw) + decoder.close()
    assert decoder.api == body.parent.name
    assert wire_events == events(PATHS[body.parent.name], raw)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.api)
@pytest.mark.parametrize("text", ['{"pong": true}', "[]", "7", "", "[" * 5_000])
def test_every_reader_leaves_alone_what_is_no_answer(provider: Provider, text: str) -> None:
    wire_events: list[WireEvent] = []
    assert not provider.new_reader().read(text, text, None, wire_events)
    assert not wire_events


def test_times_and_tokens_go_to_their_chunk() -> None:
    raw = (CASES / "completions" / "token_ids.body").read_bytes()
    pieces = raw.split(b"\n\n")
    arrivals = [(10.0 + index, piece + b"\n\n") for index, piece in enumerate(pieces)]
    part = decode_answer(decoder_for("/v1/completions"), arrivals, started_s=9.0).turn.part("text")
    assert part is not None
    assert part.grade is StreamDetail.TOKEN_IDS
    assert [(chunk.text, chunk.offset_s, chunk.token_ids, chunk.logprobs) for chunk in part.arrivals()] == [
        ("Hel", 1.0, (39, 301), (-0.25,)),
        ("", 2.0, (77,), None),
        ("lo", 3.0, (385,), (-0.5,)),
    ]


def test_lines_that_nobody_timed_bear_the_times_of_their_server() -> None:
    made = [
        {"created_at": "2026-01-02T03:04:05.250000001Z", "response": "a", "done": False},
        {"created_at": "2026-01-02T03:04:05.5Z", "response": "b", "done": False},
        {"created_at": "2026-01-02T03:04:06Z", "response": "", "done": True, "total_duration": 1_000_000_000},
    ]
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in made)
    turn = decode_answer(decoder_for("/api/generate"), [(None, raw)]).turn
    generation, part = turn.generation, turn.part("text")
    assert part is not None
    assert generation is not None
    assert [chunk.offset_s for chunk in part.arrivals()] == pytest.approx([0.25, 0.5], abs=1e-5)
    assert (generation.started, generation.ended) == (
        Instant(1767323045.0, InstantSource.DERIVED),
        Instant(1767323046.0),
    )
    timed = decode_answer(decoder_for("/api/generate"), [(7.0, raw)], started_s=5.0).turn.part("text")
    assert timed is not None
    assert [chunk.offset_s for chunk in timed.arrivals()] == [2.0, 2.0]


_TEXTS = st.sampled_from(
    [
        b'{"type": "message_start", "message": {"id": 7, "content": [{"type": "text", "text": "a"}, 7], "usage": 7}}',
        b'{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "input": {"a": 1}}}',
        b'{"type": "content_block_start", "index": -1, "content_block": {"type": ["text"], "text": {}}}',
        b'{"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}}',
        b'{"type": "content_block_stop", "index": 0}',
        b'{"type": "message_stop"}',
        b'{"type": "response.output_item.added", "output_index": 1e400, "item": {"type": "function_call", "id": "a"}}',
        b'{"type": "response.output_item.added", "output_index": 0, "item": {"type": "mcp_call", "id": "b"}}',
        b'{"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "\\ud83d"}',
        b'{"type": "response.output_item.done", "item": {"type": "message", "content": [{"type": "output_text"}, 7]}}',
        b'{"type": "response.completed", "response": {"output": [{"type": "reasoning", "summary": 7}], "error": {}}}',
        b'{"model": "m", "message": {"content": "a", "tool_calls": [{"function": {"arguments": {"a": "\\ud83d"}}}]}}',
        b'{"response": "a", "done": false, "context": [1e400]}',
        b'{"done": true, "done_reason": "length", "eval_count": "7", "total_duration": 9e999}',
        b'{"candidates": [{"content": {"parts": [{"text": "a"}, {"functionCall": {"args": {"a": NaN}}}, 7]}}]}',
        b'{"candidates": [{"index": -3, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": 7}]}',
        b'{"prompt_feedback": {"block_reason": "OTHER"}, "usage_metadata": {"prompt_token_count": '
        + b"9" * 5_000
        + b"}}",
        b'{"choices": [{"text": "a", "index": 3, "logprobs": {"tokens": [7]}}], "object": "text_completion"}',
        b'{"error": {"message": "e"}}',
        b"[DONE]",
        b"[" * 3_000,
        b'{"candidates": ' + b"[" * 3_000,
        b'"\xff"',
    ]
)
_FRAMES = st.sampled_from(
    [b"data: ", b"data: ", b"event: error\n", b": c\n", b"\n\n", b"\n", b"[", b",", b"]", b"\r\n"]
)


@pytest.mark.invariants
@given(
    path=st.sampled_from(["", "/v1/chat/completions", *PATHS.values()]),
    content_type=st.sampled_from(["", "text/event-stream", "application/json", "application/x-ndjson", "text/html"]),
    status=st.sampled_from([None, 200, 500]),
    pieces=st.lists(_FRAMES | _TEXTS | texts(max_size=2).map(lambda text: text.encode("utf-8", "surrogatepass"))),
)
def test_nothing_raises_and_no_cut_matters(
    path: str, content_type: str, status: int | None, pieces: list[bytes]
) -> None:
    def read(*cut: bytes) -> list[WireEvent]:
        decoder = decoder_for(path, None, content_type, status=status)
        return [event for piece in cut for event in decoder.feed(piece)] + decoder.close()

    raw = b"".join(pieces)
    whole = read(raw)
    assert read(*pieces) == whole
    assembly = TurnAssembly("")
    assembly.extend(whole)
    decoded = assembly.decoded()
    for part, fault in decoded.faults:
        faulty_part = decoded.turn.part(part)
        assert faulty_part is not None
        assert 0 <= fault.range.start <= fault.range.end <= len(faulty_part.text)


@pytest.mark.invariants
@given(
    path=st.sampled_from([*PATHS.values()]),
    words=texts(max_size=4).map(lambda text: text.replace("\n", "").replace("\r", "")),
)
def test_an_event_that_nobody_knows_is_kept_word_for_word(path: str, words: str) -> None:
    raw = json.dumps({"type": f"x{words}", "x": words}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    framed = raw + b"\n" if "/api/" in path else b"data: " + raw + b"\n\n"
    kept = "".join(event.text for event in events(path, framed) if isinstance(event, PartGrew))
    assert decode(raw) in kept
