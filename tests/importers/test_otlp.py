"""Telemetry: what the cases do not show, in order, in pieces, in doubles, beyond bounds, and in real files."""

import gzip
import json
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.otlp import read_span, spooled_sessions
from weaklink.inspector.importers.telemetry.otlp_bodies import is_otlp
from weaklink.inspector.importers.telemetry.otlp_json import merged_spans
from weaklink.inspector.importers.telemetry.otlp_span import (
    ERROR,
    OtlpEvent,
    OtlpSpan,
    RequestMessages,
    unfolded,
)
from weaklink.inspector.importers.telemetry.spans import OperationKind
from weaklink.inspector.model import BodyState, ErrorPhase, ExternalId, Json, Provenance, Trace

CASES = Path(__file__).parents[1] / "cases" / "importers"
SHARED = Path(__file__).parents[3] / "shared" / "samples"
SAMPLES = {
    "otel/semconv/traces.otlp.jsonl": (1, 2, 5, 1),
    "otel/openllmetry/traces.otlp.jsonl": (1, 2, 5, 1),
    "otel/openinference/traces.otlp.jsonl": (1, 2, 5, 1),
    "phoenix/pxi_turn_trace.json": (1, 9, 27, 11),
}
"""Traces, requests, turns and calls, counted by another program."""


def records(path: Path, content: bytes | None = None) -> list[Trace | Skipped]:
    if content is not None:
        path.write_bytes(content)
    return list(read_source(path).records)


def traces(found: list[Trace | Skipped]) -> list[Trace]:
    return [replace(one, provenance=Provenance()) for one in found if isinstance(one, Trace)]


def chat(**attributes: Json) -> OtlpSpan:
    named: dict[str, Json] = {"gen_ai.operation.name": "chat"}
    return OtlpSpan("a", "1", "", "chat", 1.0, 2.0, named | attributes)


@pytest.mark.parametrize("name", SAMPLES)
def test_real_files_have_as_many_turns_as_counted_by_hand(name: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("the real files are not here")
    found = traces(records(SHARED / name))
    turns = [turn for trace in found for turn in trace.turns]
    requests = sum(turn.generation is not None for turn in turns)
    assert (len(found), requests, len(turns), sum(len(turn.calls) for turn in turns)) == SAMPLES[name]


def test_the_order_of_lines_and_lines_that_come_twice_change_nothing(tmp_path: Path) -> None:
    lines = (CASES / "otlp" / "openinference.jsonl").read_bytes().splitlines(keepends=True)
    expected = traces(records(CASES / "otlp" / "openinference.jsonl"))
    for seed in range(5):
        shuffled = [*lines, *lines]
        random.Random(seed).shuffle(shuffled)
        found = traces(records(tmp_path / "x", b"".join(shuffled)))
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_protobuf_and_json_of_the_same_spans_give_the_same_traces(tmp_path: Path) -> None:
    body = (CASES / "otlp" / "body.pb").read_bytes()
    expected = traces(records(CASES / "otlp" / "genai.jsonl"))
    assert traces(records(tmp_path / "body", body)) == expected
    assert traces(records(tmp_path / "packed", gzip.compress(body))) == expected
    prefixed = len(body).to_bytes(4, "big") + body
    assert traces(records(tmp_path / "prefixed", prefixed)) == expected


def test_a_protobuf_body_cut_anywhere_gives_the_spans_before_the_cut(tmp_path: Path) -> None:
    body = (CASES / "otlp" / "body.pb").read_bytes()
    counts = []
    for size in range(200, len(body), 7):
        found = list(read_source_of(tmp_path / "x", body[:size]))
        turns = [turn for one in found if isinstance(one, Trace) for turn in one.turns]
        counts.append(sum(turn.generation is not None for turn in turns))
        assert sum(one.record == "end of file" for one in found if isinstance(one, Skipped)) <= 1
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == 5


def read_source_of(path: Path, content: bytes) -> list[Trace | Skipped]:
    path.write_bytes(content)
    return list(read_source(path, "otlp").records)


def test_a_length_that_no_file_has_is_told_and_not_believed(tmp_path: Path) -> None:
    body = (CASES / "otlp" / "body.pb").read_bytes()
    huge = b"\x0a\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x" * 100
    found = records(tmp_path / "x", body + huge)
    assert traces(found) == traces(records(CASES / "otlp" / "body.pb"))
    assert any("64 MiB" in one.reason for one in found if isinstance(one, Skipped))


@pytest.mark.parametrize(
    "content", [b"\n" * 9 + b"key", b"\n" * 70_000, b"\n\x04\n\x02\n\x00", b"\n\x10\n\x0e\n\x0cabcdefghijkl"]
)
def test_line_feeds_are_no_protobuf(content: bytes) -> None:
    assert not is_otlp(content)


def test_a_beginning_is_enough_to_know_protobuf() -> None:
    body = (CASES / "otlp" / "body.pb").read_bytes()
    assert all(is_otlp(body[:size]) for size in (60, 300, 1000, len(body)))
    without_resource = b"\x0a\x16\x12\x14\x12\x12\x0a\x10" + b"i" * 16
    assert is_otlp(without_resource)
    assert not is_otlp(without_resource.replace(b"\x10", b"\x0f"))


def test_the_traces_of_one_session_are_read_together_whoever_of_their_spans_names_it() -> None:
    chatted: dict[str, Json] = {"gen_ai.operation.name": "chat"}
    spans = [
        OtlpSpan("a", "1", "2", "", 2.0, 3.0, chatted),
        OtlpSpan("b", "3", "", "", 9.0, 10.0, {**chatted, "session.id": "s"}),
        OtlpSpan("a", "2", "", "", 1.0, 4.0, {"session.id": "s"}),
        OtlpSpan("c", "4", "", "", 1.0, 4.0, {**chatted, "session.id": ""}),
        OtlpSpan("c", "5", "", "", 3.0, 4.0, {"session.id": "later"}),
        OtlpSpan("c", "6", "", "", 2.0, 4.0, {"session.id": "earlier"}),
        OtlpSpan("d", "7", "", "", 2.0, 4.0, chatted),
    ]
    read = [trace for trace in spooled_sessions(spans) if isinstance(trace, Trace)]
    ids = [(trace.external_ids[0], trace.external_ids[-1].value, len(trace.turns)) for trace in read]
    assert ids == [
        (ExternalId("session.id", "s"), "1", 2),
        (ExternalId("session.id", "earlier"), "4", 1),
        (ExternalId("trace_id", "d"), "7", 1),
    ]


def test_a_message_that_many_requests_repeat_is_one_turn() -> None:
    known = KnownMessages()
    first = RequestMessages([{"role": "user", "content": "x"}]).turns(known)
    again = RequestMessages([{"role": "user", "content": "x"}, {"role": "user", "content": "y"}]).turns(known)
    assert again[0] is first[0]
    assert again[1] != first[0]


def test_words_that_were_not_kept_are_no_empty_answer() -> None:
    call = read_span(chat(), KnownMessages()).call
    assert call is not None
    assert call.answer.generation is not None
    assert call.answer.generation.body is BodyState.NOT_STORED


def test_words_that_were_taken_out_are_told() -> None:
    span = chat(**{"openinference.span.kind": "LLM", "output.value": "__REDACTED__"})
    call = read_span(span, KnownMessages()).call
    assert call is not None
    assert call.answer.generation is not None
    assert call.answer.generation.body is BodyState.REDACTED


def test_an_answer_that_was_cut_off_keeps_what_is_left() -> None:
    read = read_span(chat(**{"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"ty'}), KnownMessages())
    assert read.call is not None
    assert read.call.answer.parts[0].text == '[{"role": "assistant", "parts": [{"ty'
    assert read.call.answer.generation is not None
    assert read.call.answer.generation.body is BodyState.TRUNCATED
    assert any("truncated" in warning for warning in read.warnings)


@pytest.mark.parametrize(
    ("code", "message", "phase", "status"),
    [
        ("RateLimitError", "Error code: 429 - {...}", ErrorPhase.HTTP, 429),
        ("503", "", ErrorPhase.HTTP, 503),
        ("openai.APIConnectionError", "Connection error.", ErrorPhase.CONNECT, None),
        ("asyncio.CancelledError", "", ErrorPhase.CLIENT_ABORT, None),
        ("ValueError", "no", ErrorPhase.TRANSPORT, None),
    ],
)
def test_how_a_request_failed_is_told_by_its_error(
    code: str, message: str, phase: ErrorPhase, status: int | None
) -> None:
    raised = OtlpEvent("exception", None, {"exception.type": code, "exception.message": message})
    call = read_span(replace(chat(), status=ERROR, events=(raised,)), KnownMessages()).call
    assert call is not None
    assert call.answer.generation is not None
    error = call.answer.generation.error
    assert error is not None
    assert (error.phase, error.status, error.code) == (phase, status, code)
    assert error.message


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("openai.chat", {"gen_ai.request.model": "m"}, OperationKind.MODEL),
        ("openai.embeddings", {"gen_ai.request.model": "m"}, OperationKind.OTHER),
        ("openai", {"llm.request.type": "embedding", "gen_ai.prompt.0.content": "x"}, OperationKind.OTHER),
        ("x", {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m"}, OperationKind.OTHER),
        ("x", {"openinference.span.kind": "EMBEDDING", "gen_ai.request.model": "m"}, OperationKind.OTHER),
        ("x", {"openinference.span.kind": "CHAIN", "gen_ai.operation.name": "chat"}, OperationKind.MODEL),
        ("GET /", {"http.request.method": "GET"}, OperationKind.OTHER),
    ],
)
def test_only_what_asks_a_model_for_words_is_a_request(
    name: str, attributes: dict[str, Json], kind: OperationKind
) -> None:
    assert read_span(OtlpSpan("a", "1", "", name, 1.0, 2.0, attributes), KnownMessages()).kind is kind


def test_log_records_that_come_twice_are_one_and_belong_to_their_span() -> None:
    said = OtlpEvent("gen_ai.user.message", 1.5, {"content": "x"})
    record = OtlpSpan("a", "1", "", "", None, None, {"gen_ai.request.model": "m"}, (said,))
    (span,) = merged_spans([record, chat(), record])
    assert span.events == (said,)
    assert span.attributes == {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    assert span.started == chat().started


def test_ids_that_are_counted_in_each_trace_are_told_apart() -> None:
    named = {**chat().attributes, "session.id": "s"}
    spans = [replace(chat(), trace_id=trace, id=id_, attributes=named) for trace in "ab" for id_ in "12"]
    spans.append(replace(chat(), trace_id="b", id="3", attributes=named))
    (trace,) = spooled_sessions(spans)
    assert isinstance(trace, Trace)
    assert trace.provenance.record == "span a/1"
    assert len(trace.turns) == 5


def test_further_choices_stand_beside_the_answer() -> None:
    words: Json = json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": word}]} for word in ("one", "two")]
    )
    call = read_span(chat(**{"gen_ai.output.messages": words}), KnownMessages()).call
    assert call is not None
    assert [(part.name, part.text) for part in call.answer.parts] == [("text", "one"), ("choice1:text", "two")]


def test_keys_with_dots_unfold_into_lists_in_the_order_of_their_numbers() -> None:
    assert unfolded({"10.a": 3, "2.a": 2, "0.a.b": 1}) == [{"a": {"b": 1}}, {"a": 2}, {"a": 3}]
    assert unfolded({"a.b": 1, "a.c": 2}) == {"a": {"b": 1, "c": 2}}


def test_a_key_of_a_hundred_thousand_dots_is_borne() -> None:
    attributes: dict[str, Json] = {"openinference.span.kind": "LLM", f"llm.input_messages.0{'.a' * 100_000}": 1}
    assert read_span(chat(**attributes), KnownMessages()).call is not None


def test_spans_that_ask_no_model_are_counted(tmp_path: Path) -> None:
    rows = [
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": f"{at:032x}", "spanId": f"{at:016x}"}]}]}]}
        for at in range(1, 4)
    ]
    found = records(tmp_path / "x", "\n".join(map(json.dumps, rows)).encode())
    assert [one.reason for one in found if isinstance(one, Skipped)] == [
        "3 of the traces in this file contain neither a request to a model nor the run of a tool"
    ]
