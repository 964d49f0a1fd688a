"""Langfuse and LangSmith: rows in any order, bodies cut anywhere, sessions of several traces, bounds."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.langsmith import read_run
from weaklink.inspector.importers.telemetry.langsmith_multipart import RunPart, is_multipart, read_parts
from weaklink.inspector.model import ExternalId, ParentWhy, Role, Trace

CASES = Path(__file__).parents[1] / "cases" / "importers"
BODY = CASES / "langsmith" / "ingest.multipart"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "langfuse"
COUNTS = {  # traces, requests, turns, calls: by a count of leaf generations and of call ids in the JSON
    "agno-2025-06-11.trace.json": (1, 2, 5, 1),
    "claude-agent-2025-12-22.trace.json": (1, 4, 7, 2),
    "google-adk-2025-08-28.trace.json": (1, 2, 5, 1),
    "langgraph-js-2025-10-30.trace.json": (1, 2, 4, 1),
    "microsoft-agent-2025-12-17.trace.json": (1, 2, 4, 1),
    "pydantic-ai-tools-2025-06-06.trace.json": (1, 1, 3, 0),
    "vercel-aisdk-2025-11-17.trace.json": (1, 1, 3, 1),
}


def traces_in(path: Path) -> list[Trace]:
    return [record for record in read_source(path).records if isinstance(record, Trace)]


def observation(id_: str, trace: str, second: int, asked: Any, answer: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "traceId": trace,
        "type": "GENERATION",
        "startTime": f"2026-03-05T08:00:{second:02d}.000Z",
        "endTime": f"2026-03-05T08:00:{second:02d}.500Z",
        "input": asked,
        "output": answer,
        **more,
    }


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", COUNTS)
def test_real_exports_of_langfuse_are_read_whole(name: str) -> None:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip("the samples are not here")
    traces = traces_in(path)
    turns = [turn for trace in traces for turn in trace.turns]
    requests = [turn for turn in turns if turn.generation is not None]
    calls = [call for turn in requests for call in turn.calls]
    assert (len(traces), len(requests), len(turns), len(calls)) == COUNTS[name]


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (CASES / "langfuse" / "observations.jsonl").read_text().splitlines()]
    there = traces_in(table(tmp_path / "there", rows))
    back = traces_in(table(tmp_path / "back", rows[::-1]))
    assert {trace.external_ids: trace.turns for trace in there} == {trace.external_ids: trace.turns for trace in back}


def test_the_traces_of_one_session_that_go_on_with_a_conversation_are_one(tmp_path: Path) -> None:
    hello, answer = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}
    more = {"role": "user", "content": "And now?"}
    rows = [
        observation("a", "t1", 1, [hello], answer, sessionId="s"),
        observation("b", "t2", 5, [hello, answer, more], "Bye.", sessionId="s"),
    ]
    (trace,) = traces_in(table(tmp_path / "f", rows))
    assert [turn.role for turn in trace.turns] == [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]
    assert trace.external_ids[:2] == (ExternalId("session_id", "s"), ExternalId("trace_id", "t1"))


def test_an_agent_within_a_trace_is_a_sub_agent_and_another_trace_of_the_session_is_none(tmp_path: Path) -> None:
    rows = [
        observation("a", "t1", 1, "Plan a trip.", "Done."),
        observation("c", "t1", 2, "Find a hotel.", "Found.", parentObservationId="agent"),
        {**observation("agent", "t1", 2, None, None), "type": "AGENT", "name": "hotels"},
        observation("d", "t2", 9, "Another question.", "Another answer."),
    ]
    traces = traces_in(table(tmp_path / "f", [{**row, "sessionId": "s"} for row in rows]))
    parents = {trace.external_ids[-1].value: trace.parent and trace.parent.why for trace in traces}
    assert parents == {"a": None, "c": ParentWhy.SUBAGENT, "d": None}
    assert [trace.name for trace in traces][1] == "hotels"


def test_two_traces_may_have_an_observation_of_the_same_id(tmp_path: Path) -> None:
    rows = [observation("a", "t1", 1, "One?", "1"), observation("a", "t2", 2, "Two?", "2")]
    traces = traces_in(table(tmp_path / "f", rows))
    assert [trace.name for trace in traces] == ["One?", "Two?"]
    together = traces_in(table(tmp_path / "g", [{**row, "sessionId": "s"} for row in rows]))
    assert sorted(trace.name for trace in together) == ["One?", "Two?"]


def test_a_generation_that_embeds_is_no_request(tmp_path: Path) -> None:
    embeds = {"attributes": {"gen_ai.operation.name": "embeddings"}}
    rows = [observation("a", "t", 1, "x", "[0.1]", metadata=embeds), observation("b", "t", 2, "Hi", "Hello.")]
    (trace,) = traces_in(table(tmp_path / "f", rows))
    assert [turn.part("text").text for turn in trace.turns if turn.part("text")] == ["Hi", "Hello."]  # type: ignore[union-attr]  # just asked


def parts(raw: bytes, tmp_path: Path, **more: int) -> list[RunPart | Skipped]:
    path = tmp_path / "body"
    path.write_bytes(raw)
    return list(read_parts(SourceFile(path), **more))


def test_a_body_that_is_cut_anywhere_keeps_the_parts_before(tmp_path: Path) -> None:
    raw = BODY.read_bytes()
    whole = [part for part in parts(raw, tmp_path) if isinstance(part, RunPart)]
    for end in range(0, len(raw), 7):
        found = parts(raw[:end], tmp_path)
        complete = [part for part in found if isinstance(part, RunPart)]
        assert complete == whole[: len(complete)]
        assert len(found) - len(complete) <= 1
    assert len(whole) > 8


def test_a_border_within_a_part_is_content(tmp_path: Path) -> None:
    text = "--B in a text, --B-- too"
    raw = (
        b'--B\r\nContent-Disposition: form-data; name="post.1.error"\r\n\r\n%b\r\n--B--\r\n' % json.dumps(text).encode()
    )
    assert is_multipart(raw)
    assert parts(raw, tmp_path) == [RunPart("part 1", {"id": "1", "error": text})]


def test_a_part_beyond_the_bound_is_skipped_and_the_next_is_read(tmp_path: Path) -> None:
    def part(name: str, text: str) -> bytes:
        return f'--B\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n"{text}"\r\n'.encode()

    raw = part("post.1.error", "x" * 5000) + part("post.1.name", "short") + b"--B--\r\n"
    long, short = parts(raw, tmp_path, limit=4096)
    assert isinstance(long, Skipped)
    assert "longer than 4096 bytes" in long.reason
    assert short == RunPart("part 2", {"id": "1", "name": "short"})


def test_a_packed_body_is_read(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    packed = io.BytesIO()
    with zstd.ZstdFile(packed, "wb") as stream:
        stream.write(BODY.read_bytes())
    (tmp_path / "body").write_bytes(packed.getvalue())
    there = read_source(tmp_path / "body")
    assert there.source == "langsmith"
    turns = [record.turns for record in there.records if isinstance(record, Trace)]
    assert turns == [trace.turns for trace in traces_in(BODY)]


def test_a_request_that_failed_in_a_trace_of_mlflow_ends_with_an_error(tmp_path: Path) -> None:
    span = {
        "span_id": "c3Bhbi01",
        "name": "Completions",
        "start_time_unix_nano": 1795860000000000000,
        "status": {"code": "STATUS_CODE_ERROR", "message": "Error code: 429 - too many requests"},
        "attributes": {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.spanInputs": '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}',
        },
    }
    (trace,) = traces_in(table(tmp_path / "t.jsonl", [{"info": {"trace_id": "tr-1"}, "data": {"spans": [span]}}]))
    generation = trace.turns[-1].generation
    assert generation is not None
    assert generation.error is not None
    assert (generation.error.status, generation.finish, generation.body) == (429, "error", "complete")


@pytest.mark.parametrize(("named", "id_"), [({"tool_call_id": "own"}, "own"), ({}, "metadata")])
def test_a_tools_own_message_names_its_call_before_the_metadata_of_its_run(named: dict[str, str], id_: str) -> None:
    message = {"type": "tool", "content": "rain", **named}
    run: dict[str, Any] = {"run_type": "tool", "name": "weather", "inputs": {}, "outputs": {"output": message}}
    read = read_run({**run, "extra": {"metadata": {"tool_call_id": "metadata"}}}, KnownMessages()).run
    assert read is not None
    assert (read.call_id, read.result) == (id_, "rain")


_STEP = {"type": "step-start"}
_FAILED = {"type": "tool-tide", "toolCallId": "c1", "state": "output-error", "input": {}, "errorText": "no answer"}
_ALSO = {"type": "tool-tide", "toolCallId": "c2", "state": "output-available", "input": {"at": 2}, "output": "high"}
_LOOK: list[dict[str, Any]] = [_STEP, {"type": "text", "text": "I look."}, _FAILED, _ALSO]
_LOOKED = [("assistant", "I look."), ("tool", "no answer"), ("tool", "high")]


@pytest.mark.parametrize("more", [[], [{"role": "user", "content": "And now?"}]], ids=["last", "repeated"])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (_LOOK, _LOOKED),
        ([*_LOOK, _STEP, {"type": "text", "text": "High."}], [*_LOOKED, ("assistant", "High.")]),
        ([_STEP], [("assistant", "")]),
    ],
    ids=["results", "answer", "empty"],
)
def test_an_answer_stored_as_a_ui_message_has_all_its_steps(
    parts: list[dict[str, Any]], expected: list[tuple[str, str]], more: list[dict[str, Any]], tmp_path: Path
) -> None:
    request: list[dict[str, Any]] = [{"role": "user", "content": "High tide?"}]
    answer = {"role": "assistant", "parts": parts}
    rows = [observation("a", "t", 1, request, answer)]
    if more and parts != [_STEP]:
        rows.append(observation("b", "t", 2, [*request, answer, *more], "Low."))
        expected = [*expected, ("user", "And now?"), ("assistant", "Low.")]
    (trace,) = traces_in(table(tmp_path / "rows.jsonl", rows))
    read = [(turn.role.value, turn.parts[0].text) for turn in trace.turns]
    assert read == [("user", "High tide?"), *expected]
    assert [call.id for turn in trace.turns for call in turn.calls] == (["c1", "c2"] if len(parts) > 1 else [])
