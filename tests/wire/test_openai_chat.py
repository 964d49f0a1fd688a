"""Chat completions as transcripts: recorded bodies in, cut at every byte; turns and faults out."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import texts
from tests.wire.transcripts import chat_body, chat_stream, plain
from weaklink.inspector.apis.openai.chat import API, ChatReader, stored_usage
from weaklink.inspector.apis.providers import decoder_for
from weaklink.inspector.model import BodyState, ErrorPhase, FinishReason, StreamDetail, Usage
from weaklink.inspector.text import decode
from weaklink.inspector.wire.decoder import EventStreamDecoder, decode_answer
from weaklink.inspector.wire.events import DecodedTurn, PartGrew, TurnAssembly, WireEvent

CASES = Path(__file__).parent.parent / "cases" / "wire" / "openai_chat"
BODIES = sorted(CASES.glob("*.body"))
NAMES = [path.stem for path in BODIES]


def answer(raw: bytes) -> DecodedTurn:
    return decode_answer(decoder_for("/v1/chat/completions"), [(None, raw)])


def events(*pieces: bytes) -> list[WireEvent]:
    decoder = EventStreamDecoder(ChatReader())
    wire_events = [event for piece in pieces for event in decoder.feed(piece)]
    return wire_events + decoder.close()


@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_a_recorded_body_gives_its_turn(body: Path, *, update_goldens: bool) -> None:
    golden = body.with_suffix(".json")
    got = plain(chat_stream(body.read_bytes()))
    text = json.dumps(got, indent=1) + "\n"
    if update_goldens:
        golden.write_text(text, encoding="ascii")
    assert text == golden.read_text(encoding="ascii"), "pytest --update-goldens rewrites the expected turns"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_no_cut_matters(body: Path) -> None:
    raw = body.read_bytes()
    whole = events(raw)
    assert events(*(raw[index : index + 1] for index in range(len(raw)))) == whole
    for position in range(len(raw) + 1):
        assert events(raw[:position], raw[position:]) == whole


@pytest.mark.one_in(3)
@pytest.mark.parametrize("body", BODIES, ids=NAMES)
def test_a_body_cut_off_anywhere_keeps_what_came(body: Path) -> None:
    raw = body.read_bytes()
    whole = {part.name: part.text for part in chat_stream(raw).turn.parts}
    for end in range(len(raw)):
        for part in chat_stream(raw[:end]).turn.parts:
            assert part.name.startswith("wire:") or whole.get(part.name, "").startswith(part.text)


def test_times_go_to_the_text_that_ends_with_the_bytes() -> None:
    first, second, *_ = (CASES / "plain.body").read_bytes().split(b"\n\n")[1:]
    arrivals = [(10.0, first[:9]), (10.5, first[9:] + b"\n\n" + second), (11.0, b"\n\n")]
    decoder, assembly = EventStreamDecoder(ChatReader()), TurnAssembly(API, started_s=9.0)
    for at_s, raw in arrivals:
        assembly.extend(decoder.feed(raw, at_s))
    part = assembly.decoded().turn.part("text")
    assert part is not None
    assert part.grade is StreamDetail.CHUNKS
    assert [(chunk.text, chunk.offset_s, chunk.sequence) for chunk in part.arrivals()] == [
        ("It is ", 1.5, 0),
        ("18 degrees.", 2.0, 1),
    ]


def test_token_ids_and_logprobs_stay_with_their_chunk() -> None:
    part = chat_stream((CASES / "token_ids.body").read_bytes()).turn.part("text")
    assert part is not None
    assert part.grade is StreamDetail.TOKEN_IDS
    assert [(chunk.text, chunk.token_ids, chunk.logprobs) for chunk in part.arrivals()] == [
        ("Hel", (39, 301), (-0.5, -0.25)),
        ("", (77,), None),
        ("lo", (385,), (-9999.0,)),
    ]


WHOLE: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "example-8b",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "On it.",
                "reasoning_content": "Hm.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1,}'}},
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 2}}},
                    {"type": "custom", "custom": {"name": "g", "input": "free text"}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_cache_hit_tokens": 3},
}


def test_a_whole_body_has_its_texts_and_no_chunks() -> None:
    decoded = chat_body(json.dumps(WHOLE).encode())
    assert not decoded.faults
    assert [(part.name, part.text, part.grade) for part in decoded.turn.parts] == [
        ("reasoning", "Hm.", StreamDetail.TEXT_ONLY),
        ("text", "On it.", StreamDetail.TEXT_ONLY),
        ("call:0", '{"a": 1,}', StreamDetail.TEXT_ONLY),
        ("call:1", '{"a":2}', StreamDetail.TEXT_ONLY),
        ("call:2", "free text", StreamDetail.TEXT_ONLY),
    ]
    assert [(call.part, call.name, call.id) for call in decoded.turn.calls] == [
        ("call:0", "f", "c1"),
        ("call:1", "f", "c1"),
        ("call:2", "g", None),
    ]
    assert decoded.response_id == "chatcmpl-1"
    generation = decoded.turn.generation
    assert generation is not None
    assert (generation.api, generation.answered_model) == ("chat.completions", "example-8b")
    assert (generation.finish, generation.finish_reason) == (FinishReason.TOOL_CALLS, "tool_calls")
    assert generation.usage == Usage(5, 7, None, 3)


def test_a_whole_body_is_recognised_by_how_it_begins() -> None:
    raw, streamed = json.dumps(WHOLE).encode(), (CASES / "plain.body").read_bytes()
    assert answer(b"\xef\xbb\xbf\n" + raw).turn == chat_body(raw).turn
    assert answer(streamed) == chat_stream(streamed)


@pytest.mark.parametrize(
    ("raw", "status", "code", "error", "body"),
    [
        (b'{"error": {"message": "slow down", "code": "rate"}}', 429, "C505", ("http", "slow down"), "complete"),
        (b'{"error": "no such model"}', None, "C505", ("http", "no such model"), "complete"),
        (b'{"object": "error", "message": "too long", "code": 400}', 400, "C505", ("http", "too long"), "complete"),
        (b'{"detail": [{"msg": "missing"}]}', 422, "C505", ("http", '[{"msg":"missing"}]'), "complete"),
        (b"<html>Bad gateway</html>", 502, "C505", ("http", "<html>Bad gateway</html>"), "complete"),
        (b'{"error": {"message": "out of memory"}}', 200, "C508", ("in_stream", "out of memory"), "complete"),
        (json.dumps(WHOLE).encode()[:-9], 200, "C504", None, "truncated"),
        (b" \n", 200, "C504", None, "truncated"),
        (b'{"pong": true}', 200, "C507", None, "complete"),
        (b"pong", 200, "C507", None, "complete"),
        (b"[" * 100_000, 200, "C504", None, "truncated"),
        (b'{"choices": 5}', 200, "C507", None, "complete"),
    ],
)
def test_a_whole_body_that_is_no_answer_has_one_fault(
    raw: bytes, status: int | None, code: str, error: tuple[str, str] | None, body: str
) -> None:
    decoded = chat_body(raw, status=status)
    assert [fault.rule.code for _, fault in decoded.faults] == [code]
    generation = decoded.turn.generation
    assert generation is not None
    assert generation.body is BodyState(body)
    generation_error = generation.error
    assert (generation_error and (generation_error.phase, generation_error.message)) == (
        error and (ErrorPhase(error[0]), error[1])
    )
    assert all(decoded.turn.part(part) for part, _ in decoded.faults)


_LINES = st.sampled_from(
    [
        b'{"choices": [{"index": 0, "delta": {"content": "a"}}]}',
        b'{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}}]}',
        b'{"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": "{"}}]}}]}',
        b'{"choices": [{"index": 1e400, "delta": 0, "logprobs": {"content": [0]}}], "usage": {"prompt_tokens": []}}',
        b'{"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [1]}]}, "finish_reason": 1}], "id": 1}',
        b'{"choices": [null, {"message": 1}, {"index": -7, "delta": {"tool_calls": [null, {"id": 1}]}}]}',
        b'{"choices": [{"delta": {"function_call": 1}}]}',
        b'{"error": {}}',
        b"[DONE]",
        b"[" * 5_000,
        b'{"choices": ' + b"[" * 5_000,
        b'{"usage": {"prompt_tokens": ' + b"9" * 5_000 + b"}}",
        b'"\xff"',
    ]
)


@pytest.mark.invariants
@given(
    pieces=st.lists(
        st.sampled_from([b"data: ", b"data: ", b"event: error\n", b":c\n", b"\n\n"]) | _LINES | st.binary(max_size=4)
    )
)
def test_nothing_raises_and_no_cut_matters(pieces: list[bytes]) -> None:
    raw = b"".join(pieces)
    whole = events(raw)
    assert events(*pieces) == whole
    assembly = TurnAssembly(API)
    assembly.extend(whole)
    decoded = assembly.decoded()
    for part, fault in decoded.faults:
        faulty_part = decoded.turn.part(part)
        assert faulty_part is not None
        assert 0 <= fault.range.start <= fault.range.end <= len(faulty_part.text)
    answer(raw)


@pytest.mark.invariants
@given(contents=st.lists(texts(max_size=4), max_size=5), ascii_only=st.booleans())
def test_every_text_comes_through(contents: list[str], *, ascii_only: bool) -> None:
    documents = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in contents]
    lines = [json.dumps(document, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for document in documents]
    wire_events = events(*(b"data: " + line + b"\n\n" for line in lines))
    sent = [json.loads(decode(line))["choices"][0]["delta"]["content"] for line in lines]
    assert [event.text for event in wire_events if isinstance(event, PartGrew)] == [text for text in sent if text]


def test_a_reused_index_is_told_once_for_each_event_that_reuses_it() -> None:
    calls = [
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "id": id_, "function": {"name": "f", "arguments": "{}"}}]}}
            ]
        }
        for id_ in ("a", "b")
    ]
    chunks = [*calls, {"choices": [{"finish_reason": "tool_calls"}]}]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    decoded = chat_stream(body.encode())
    kept = decoded.turn.part("wire:reused_index")
    assert kept is not None
    assert kept.text == f"data: {json.dumps(calls[1])}\n\n"
    assert [fault.rule.name for _, fault in decoded.faults] == ["reused-call-index"]


def test_a_count_that_is_none_does_not_lose_the_others() -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": "4", "prompt_tokens_details": {"cached_tokens": 8}}
    decoded = chat_body(json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode())
    assert decoded.turn.generation is not None
    assert decoded.turn.generation.usage == Usage(11, None, None, 8)
    assert [fault.message for _, fault in decoded.faults] == [
        "This decoder does not know what `usage.completion_tokens` means here."
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ([], Usage()),
        (
            {"prompt_tokens": 5, "completion_tokens": "7", "prompt_tokens_details": {"cached_tokens": 3}},
            Usage(5, None, None, 3),
        ),
        ({"input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 6}}, Usage(5, 7, 6)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3, "\ud83d": 1}, Usage(5, None, None, 3)),
        ({"prompt_tokens": 5, "x": json.loads("[" * 900 + "]" * 900)}, Usage(5)),
    ],
)
def test_stored_counts_are_read_under_the_names_of_either_api(usage: Any, expected: Usage) -> None:
    assert stored_usage(usage) == expected
