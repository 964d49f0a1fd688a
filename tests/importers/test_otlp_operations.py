"""OpenTelemetry's GenAI conventions of today: tools and MCP, exceptions, plans, memory, evaluations."""

import json
from pathlib import Path
from typing import Any, TypeAlias

from weaklink.inspector.chain.steps import Status
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Trace

Attributes: TypeAlias = dict[str, Any]

TRACE_ID = "ab" * 16
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "tide"}
MESSAGES = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Tides?"}]}])


def value(one: object) -> dict[str, object]:
    if isinstance(one, float):
        return {"doubleValue": one}
    return {"intValue": str(one)} if isinstance(one, int) else {"stringValue": one}


def pairs(values: Attributes) -> list[dict[str, object]]:
    return [{"key": key, "value": value(one)} for key, one in values.items()]


def event(name: str, **values: Any) -> dict[str, object]:
    return {"name": name, "timeUnixNano": "1760000000500000000", "attributes": pairs(values)}


def span(
    number: int, values: Attributes, *, parent: int = 0, at_s: int = 0, events: tuple[dict[str, object], ...] = ()
) -> dict[str, object]:
    return {
        "traceId": TRACE_ID,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"span {number}",
        "startTimeUnixNano": str(1_760_000_000_000_000_000 + at_s * 1_000_000_000),
        "endTimeUnixNano": str(1_760_000_001_000_000_000 + at_s * 1_000_000_000),
        "attributes": pairs(values),
        "events": list(events),
    }


def record(number: int, name: str, **values: Any) -> dict[str, object]:
    """A log record that belongs to a span, as instrumentations of today send events."""
    return {
        "traceId": TRACE_ID,
        "spanId": f"{number:016x}",
        "eventName": name,
        "severityNumber": 13,
        "attributes": pairs(values),
    }


def chat(number: int, answer: list[dict[str, Any]], **more: Any) -> dict[str, object]:
    output = json.dumps([{"role": "assistant", "parts": answer, "finish_reason": "stop"}])
    values = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": output}
    return span(number, {**values, "gen_ai.input.messages": MESSAGES}, **more)


def called(*ids: str) -> list[dict[str, Any]]:
    return [{"type": "tool_call", "id": id_, "name": "tide", "arguments": {"at": id_}} for id_ in ids]


def trace_of(tmp_path: Path, spans: list[dict[str, object]], logs: list[dict[str, object]] | None = None) -> Trace:
    path = tmp_path / "spans.jsonl"
    rows: list[dict[str, object]] = [{"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}]
    if logs:
        rows.append({"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": logs}]}]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (trace,) = (found for found in read_source(path).records if isinstance(found, Trace))
    return trace


def results(trace: Trace) -> list[tuple[str | None, str, bool | None]]:
    return [
        (turn.result.call_id, turn.parts[0].text, turn.result.is_error)
        for turn in trace.turns
        if turn.result is not None
    ]


def test_a_run_of_an_mcp_tool_within_the_frameworks_run_is_the_same_run(tmp_path: Path) -> None:
    mcp = {**TOOL, "mcp.method.name": "tools/call"}
    spans = [
        chat(1, called("c1", "c2")),
        span(2, {**TOOL, "gen_ai.tool.call.id": "c1"}, at_s=2),
        span(3, {**mcp, "gen_ai.tool.call.result": "low"}, parent=2, at_s=2),
        span(4, {"mcp.method.name": "tools/call", "gen_ai.tool.name": "tide"}, parent=3, at_s=2),  # the server's
        span(5, {**TOOL, "gen_ai.tool.call.id": "c2", "gen_ai.tool.call.result": "high"}, at_s=3),
    ]
    trace = trace_of(tmp_path, spans)
    assert results(trace) == [("c1", "low", None), ("c2", "high", None)]
    assert not any("without a matching call" in warning for warning in trace.provenance.warnings)


def test_an_agent_that_is_a_tool_may_run_a_tool_of_the_same_name(tmp_path: Path) -> None:
    spans = [
        span(1, TOOL),
        span(2, {"gen_ai.operation.name": "invoke_agent"}, parent=1, at_s=1),
        span(3, {**TOOL, "gen_ai.tool.call.result": "low"}, parent=2, at_s=2),
    ]
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}))
    traces = [found for found in read_source(path).records if isinstance(found, Trace)]
    assert sum(len(turn.calls) for trace in traces for turn in trace.turns) == 2


def test_a_tool_that_raised_has_failed_whether_the_span_or_a_log_record_says_so(tmp_path: Path) -> None:
    name, raised = "gen_ai.execute_tool.exception", {"exception.type": "KeyError", "exception.message": "no harbour"}
    run = {**TOOL, "gen_ai.tool.call.id": "c1"}
    in_span = trace_of(tmp_path, [chat(1, called("c1")), span(2, run, at_s=2, events=(event(name, **raised),))])
    in_log = trace_of(tmp_path, [chat(1, called("c1")), span(2, run, at_s=2)], [record(2, name, **raised)])
    assert results(in_span) == results(in_log) == [("c1", "no harbour", True)]
    (step,) = inspect_trace(in_log).chain.steps
    assert step.outcome.value == "error-result"


def test_an_exception_that_was_caught_is_no_failure(tmp_path: Path) -> None:
    run = {**TOOL, "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "low"}
    caught = event("exception", **{"exception.type": "KeyError"})
    trace = trace_of(tmp_path, [chat(1, called("c1")), span(2, run, at_s=2, events=(caught,))])
    assert results(trace) == [("c1", "low", None)]


def test_a_request_that_raised_has_an_error(tmp_path: Path) -> None:
    failed = span(1, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": MESSAGES})
    log = record(1, "gen_ai.client.operation.exception", **{"exception.message": "Error code: 429, slow down"})
    (error,) = (turn.generation.error for turn in trace_of(tmp_path, [failed], [log]).turns if turn.generation)
    assert error is not None
    assert (error.status, error.message) == (429, "Error code: 429, slow down")


def test_a_plan_is_the_request_within_it_and_a_request_itself_without_one(tmp_path: Path) -> None:
    text = [{"type": "text", "content": "First the tide."}]
    output = json.dumps([{"role": "assistant", "parts": text}])
    plan = {"gen_ai.operation.name": "plan", "gen_ai.input.messages": MESSAGES, "gen_ai.output.messages": output}
    alone = trace_of(tmp_path, [span(1, plan)])
    around = trace_of(tmp_path, [span(1, plan), chat(2, text, parent=1)])
    for trace in (alone, around):
        assert [turn.role.value for turn in trace.turns] == ["user", "assistant"]
        assert trace.turns[1].parts[0].text == "First the tide."
        assert not any("framework" in warning for warning in trace.provenance.warnings)


def test_work_of_the_framework_is_counted_and_is_no_call(tmp_path: Path) -> None:
    work = [span(number, {"gen_ai.operation.name": "search_memory"}, at_s=number) for number in (2, 3)]
    trace = trace_of(
        tmp_path, [chat(1, [{"type": "text", "content": "Low."}]), *work, span(4, {"gen_ai.operation.name": "plan"})]
    )
    assert (
        "the framework's own work, which no call of the model asked for, is left out: `plan` 1, `search_memory` 2"
        in trace.provenance.warnings
    )


def test_evaluations_are_notes(tmp_path: Path) -> None:
    score = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": 4.0}
    label = {"gen_ai.evaluation.name": "Solved", "gen_ai.evaluation.score.label": "fail"}
    name = "gen_ai.evaluation.result"
    logs = [record(1, name, **score), record(1, name, **label), record(1, name, **{"error.type": "timeout"})]
    trace = trace_of(tmp_path, [chat(1, [{"type": "text", "content": "Low."}])], logs)
    assert [warning for warning in trace.provenance.warnings if "evaluated" in warning] == [
        "the source evaluated this session: Relevance: 4.0",
        "the source evaluated this session: Solved: fail",
        "the source evaluated this session: without a name: failed with `timeout`",
    ]
    assert trace.outcome is None


def test_many_evaluations_are_counted(tmp_path: Path) -> None:
    logs = [record(1, "gen_ai.evaluation.result", **{"gen_ai.evaluation.name": f"e{n}"}) for n in range(25)]
    trace = trace_of(tmp_path, [chat(1, [{"type": "text", "content": "Low."}])], logs)
    assert trace.provenance.warnings[-1] == "the source has 5 more evaluations"


def test_a_span_that_failed_counts_where_the_next_request_repeats_its_result_without_a_flag(tmp_path: Path) -> None:
    answer = {"type": "tool_call_response", "id": "c1", "response": "no table for that harbour"}
    repeated = [
        *json.loads(MESSAGES),
        {"role": "assistant", "parts": called("c1")},
        {"role": "tool", "parts": [answer]},
    ]
    failed = span(2, {**TOOL, "gen_ai.tool.call.id": "c1", "error.type": "KeyError"}, at_s=2)
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "High tide is at 05:12."}]}]
    texts = {"gen_ai.input.messages": json.dumps(repeated), "gen_ai.output.messages": json.dumps(said)}
    last = span(3, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **texts}, at_s=4)
    trace = trace_of(tmp_path, [chat(1, called("c1")), {**failed, "status": {"code": 2}}, last])
    assert results(trace) == [("c1", "no table for that harbour", True)]
    assert inspect_trace(trace).chain.status is Status.BROKEN
