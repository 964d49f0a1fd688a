"""A trace as OTLP: protobuf's own reader takes it, and what weaklink found is in it."""

import base64
import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]  # it brings no types
from msgspec import structs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.ui.scenes import broken_trace
from weaklink.inspector.chain.steps import Chain, StepOutcome
from weaklink.inspector.exporters import otlp_protobuf, otlp_request
from weaklink.inspector.exporters.otlp import OtlpValue
from weaklink.inspector.exporters.otlp import attributes as attribute_list
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import (
    BodyState,
    CallHeader,
    ErrorPhase,
    ExternalId,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    InstantSource,
    Json,
    Part,
    RecordedState,
    ResultHeader,
    Role,
    RunState,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)

CASES = Path(__file__).parents[1] / "cases" / "importers"
FILES = sorted(path for path in CASES.glob("*/*") if not path.name.endswith(".expected"))
SAMPLES = Path(__file__).parents[2] / "sample_traces"
NOW_S = 1_800_000_000.0


def parsed(trace: Trace, inspection: Inspection) -> Any:
    """The request as protobuf reads it.

    OTLP writes ids in hexadecimal where protobuf's mapping wants base64, and nothing else differs.
    """
    request = json.loads(write_json(otlp_request(trace, inspection, unknown_at_s=NOW_S)))
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    return json_format.ParseDict(request, ExportTraceServiceRequest())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_protobuf_has_all_that_the_json_has(path: Path) -> None:
    for trace in read_source(path).records:
        if isinstance(trace, Trace):
            inspection = inspect_trace(trace)
            body = otlp_protobuf(otlp_request(trace, inspection, unknown_at_s=NOW_S))
            assert ExportTraceServiceRequest.FromString(body) == parsed(trace, inspection)


def test_values_of_protobuf_are_read_as_they_were() -> None:
    values: dict[str, OtlpValue] = {"a": 0, "b": False, "c": -5, "d": 1.5, "e": ["x", ""], "f": "ø", "g": (1 << 63) - 1}
    span: Json = {"name": "s", "attributes": attribute_list(values)}
    body = otlp_protobuf({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    (read,) = ExportTraceServiceRequest.FromString(body * 2).resource_spans[1].scope_spans[0].spans
    by_key = attributes(read)
    assert [value.string_value for value in by_key.pop("e").values] == ["x", ""]
    assert by_key == {key: value for key, value in values.items() if key != "e"}


def spans(trace: Trace, inspection: Inspection | None = None) -> list[Any]:
    (resource,) = parsed(trace, inspection or inspect_trace(trace)).resource_spans
    (scope,) = resource.scope_spans
    return list(scope.spans)


def attributes(carrier: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in carrier.attributes
    }


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_protobuf_reads_every_trace(path: Path) -> None:
    for trace in read_source(path).records:
        if not isinstance(trace, Trace):
            continue
        inspection = inspect_trace(trace)
        root, *rest = all_spans = spans(trace, inspection)
        assert {len(span.trace_id) for span in all_spans} == {16}
        assert len({span.trace_id for span in all_spans}) == 1
        assert len({span.span_id for span in all_spans}) == len(all_spans)
        assert root.parent_span_id == b""
        assert all(span.parent_span_id == root.span_id for span in rest)
        assert all(
            root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in all_spans
        )
        events = Counter(event.name for span in all_spans for event in span.events)
        failed = sum(step.outcome is StepOutcome.ERROR_RESULT for step in inspection.chain.steps)
        assert events == Counter(
            {
                "weaklink.diagnostic": len(inspection.diagnostics),
                "gen_ai.evaluation.result": 1,
                "gen_ai.execute_tool.exception": failed,
            }
        )
        assert sum(span.name.startswith("execute_tool") for span in rest) == len(inspection.chain.steps)
        assert attributes(root)["weaklink.status"] == inspection.chain.status.value
        assert attributes(root)["weaklink.certainty"] == inspection.chain.certainty.value
        tools = [attributes(span) for span in rest if span.name.startswith("execute_tool")]
        kinds = [step.result_kind and step.result_kind.value for step in inspection.chain.steps]
        assert [tool.get("weaklink.result_kind") for tool in tools] == kinds
        said = [step.said and step.said.value for step in inspection.chain.steps]
        assert [tool.get("weaklink.said") for tool in tools] == said


def test_the_break_is_told_where_the_session_is_and_the_fault_where_it_lies() -> None:
    trace, inspection = broken_trace()
    root, *rest = spans(trace, inspection)
    broken = inspection.chain.broken
    assert broken is not None
    told = attributes(root)
    assert (root.status.code, root.status.message) == (2, broken.message)
    assert (told["weaklink.break.step"], told["weaklink.break.outcome"]) == (broken.step, broken.outcome.value)
    faults = {attributes(event)["weaklink.code"]: span for span in rest for event in span.events}
    assert faults["J104"].name.startswith("chat")
    failed = [span for span in rest if span.name.startswith("execute_tool") and span.status.code == 2]
    assert [attributes(span)["error.type"] for span in failed] == [
        step.outcome.value for step in inspection.chain.steps if step.outcome.failed
    ]


def whole_trace(*, started: float | None, arguments: str = '{"x":1}') -> Trace:
    tool = ToolDefinition("f", "", {"type": "object"}, '{"type":"function","function":{"name":"f"}}')
    index = None if started is None else Instant(started)
    end = None if started is None else Instant(started + 1.5)
    generation = Generation(
        requested_model="m", tools=(tool,), started=index, ended=end, usage=Usage(10, 20), finish_reason="tool_calls"
    )
    return Trace(
        (
            Turn(Role.USER, (Part("text", "Do \ud83d it"),)),
            Turn(
                Role.ASSISTANT,
                (Part("reasoning", "Hm."), Part("call:0", arguments)),
                calls=(CallHeader("call:0", "f", "c1"),),
                generation=generation,
            ),
        ),
        external_ids=(ExternalId("session_id", "s"),),
    )


def test_an_answer_says_what_the_conventions_have_words_for() -> None:
    root, chat, tool = spans(whole_trace(started=1_700_000_000.25))
    told = attributes(chat)
    assert (chat.name, chat.kind, told["gen_ai.request.model"]) == ("chat m", 3, "m")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (10, 20)
    assert [value.string_value for value in told["gen_ai.response.finish_reasons"].values] == ["tool_calls"]
    assert json.loads(told["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "Hm."},
                {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"x": 1}},
            ],
            "finish_reason": "tool_calls",
        }
    ]
    assert json.loads(told["gen_ai.tool.definitions"]) == [{"type": "function", "name": "f"}]
    assert (chat.start_time_unix_nano, chat.end_time_unix_nano) == (
        1_700_000_000_250_000_000,
        1_700_000_001_750_000_000,
    )
    assert (told["weaklink.times"], attributes(tool)["weaklink.times"]) == ("recorded", "derived")
    assert attributes(root)["gen_ai.conversation.id"] == "s"
    assert "Do \ufffd it" in attributes(root)["gen_ai.input.messages"]


def test_malformed_arguments_stay_the_text_that_they_are() -> None:
    _, chat, tool = spans(whole_trace(started=None, arguments='{"x":'))
    (message,) = json.loads(attributes(chat)["gen_ai.output.messages"])
    assert message["parts"][1]["arguments"] == '{"x":'
    assert attributes(tool)["gen_ai.tool.call.arguments"] == '{"x":'
    assert attributes(tool)["weaklink.outcome"] == "malformed"


def test_unknown_times_are_told_as_such_and_keep_the_order() -> None:
    root, *children = spans(whole_trace(started=None))
    starts = [span.start_time_unix_nano for span in (root, *children)]
    assert starts == sorted(starts)
    assert starts[0] == int(NOW_S) * 1_000_000_000
    assert root.end_time_unix_nano == max(span.end_time_unix_nano for span in children) == starts[0] + 1_000
    assert {attributes(span)["weaklink.times"] for span in (root, *children)} == {"unknown"}


def exported_and_imported(trace: Trace, folder: Path) -> Trace:
    file = folder / "again.pb"
    file.write_bytes(otlp_protobuf(otlp_request(trace, inspect_trace(trace), unknown_at_s=NOW_S)))
    (read,) = (record for record in read_source(file).records if isinstance(record, Trace))
    return read


def test_times_that_an_export_made_up_are_none_of_the_session_s_when_it_is_imported(tmp_path: Path) -> None:
    read = exported_and_imported(whole_trace(started=None), tmp_path)
    assert read.started is None
    assert [(turn.generation.started, turn.generation.ended) for turn in read.turns if turn.generation] == [
        (None, None)
    ]
    read = exported_and_imported(whole_trace(started=NOW_S), tmp_path)
    moments = [(turn.generation.started, turn.generation.ended) for turn in read.turns if turn.generation]
    assert moments == [(Instant(NOW_S), Instant(NOW_S + 1.5))]


def test_a_time_that_an_export_derived_is_derived_when_it_is_imported(tmp_path: Path) -> None:
    answer = Turn(Role.ASSISTANT, (Part("text", "Yes."),), generation=Generation(ended=Instant(NOW_S)))
    trace = Trace((Turn(Role.USER, (Part("text", "Is it?"),)), answer))
    generation = exported_and_imported(trace, tmp_path).turns[-1].generation
    assert generation is not None
    assert generation.started is not None
    assert generation.started.source is InstantSource.DERIVED


@pytest.mark.parametrize("name", ["", "planner", "invoke agent", "invoke_agent_2"])
def test_an_agent_s_name_is_not_its_operation(name: str, tmp_path: Path) -> None:
    trace = structs.replace(whole_trace(started=None), name=name)
    assert exported_and_imported(trace, tmp_path).name == name or not name


@pytest.mark.parametrize("body", list(BodyState))
def test_an_answer_that_was_not_stored_is_none_when_it_is_imported(body: BodyState, tmp_path: Path) -> None:
    said = Part("text", "Yes." if body is BodyState.COMPLETE else "")
    answer = Turn(Role.ASSISTANT, (said,), generation=Generation(body=body))
    trace = Trace((Turn(Role.USER, (Part("text", "Is it?"),)), answer))
    read = exported_and_imported(trace, tmp_path)
    assert inspect_trace(read).chain.status is inspect_trace(trace).chain.status
    assert [turn.generation.body for turn in read.turns if turn.generation] == [body]


@pytest.mark.parametrize("name", ["hermes-sessions", "claude-code", "openai-messages"])
def test_an_import_of_an_export_gives_the_session_again(name: str, tmp_path: Path) -> None:
    for path in sorted((CASES / name).glob("*.json*")):
        if path.name.endswith(".expected") or "broken" in path.name:
            continue
        traces = [record for record in read_source(path).records if isinstance(record, Trace) and len(record.turns) > 2]
        for trace in traces:
            read = exported_and_imported(trace, tmp_path)
            assert [turn.role for turn in read.turns] == [turn.role for turn in trace.turns]
            assert [call.name or "" for turn in read.turns for call in turn.calls] == [
                call.name or "" for turn in trace.turns for call in turn.calls
            ]


@pytest.mark.parametrize("path", [*FILES, *sorted(SAMPLES.glob("*.jsonl"))], ids=lambda path: path.name)
def test_an_import_of_an_export_has_the_same_verdict(path: Path, tmp_path: Path) -> None:
    """No span says who wrote a message, how a task was judged, which of two calls without ids has a result, and what
    follows the last answer.
    """
    for trace in read_source(path).records:
        if isinstance(trace, Trace) and _is_told_by_spans(trace):
            chain, read = inspect_trace(trace).chain, inspect_trace(exported_and_imported(trace, tmp_path)).chain
            assert (read.status, _broken_step(read)) == (chain.status, _broken_step(chain))


def _is_told_by_spans(trace: Trace) -> bool:
    has_ids = all(call.id for turn in trace.turns if len(turn.calls) > 1 for call in turn.calls)
    is_answered = trace.turns[-1].role is Role.ASSISTANT
    return has_ids and is_answered and trace.outcome is None and not any(turn.flags for turn in trace.turns)


def _broken_step(chain: Chain) -> int | None:
    return chain.broken.step if chain.broken else None


def test_how_a_run_ended_is_told_and_read_again(tmp_path: Path) -> None:
    recorded = RecordedState(1, RunState.FAILED, "exit_code, status")
    turns = (
        Turn(Role.ASSISTANT, (Part("call:0", "{}"),), calls=(CallHeader("call:0", "f", "c"),), generation=Generation()),
        Turn(Role.TOOL, (Part("text", "gone"),), result=ResultHeader("c", is_error=True, recorded=recorded)),
        Turn(Role.ASSISTANT, (Part("text", "Done."),), generation=Generation()),
    )
    read = exported_and_imported(Trace(turns), tmp_path)
    assert [turn.result for turn in read.turns] == [turn.result for turn in turns]


@pytest.mark.parametrize("offered", list(product(("", "f", "fg"), repeat=3)), ids="-".join)
def test_an_import_of_an_export_offers_the_same_tools(offered: tuple[str, ...], tmp_path: Path) -> None:
    """The tools are written where they change, so a later request without any has those before it, or none."""
    turns = [Turn(Role.USER, (Part("text", "Do it"),))]
    for number, names in enumerate(offered):
        tools = tuple(ToolDefinition(name, "", {}, write_json({"name": name, "parameters": {}})) for name in names)
        generation = Generation(requested_model="m", tools=tools, finish_reason="tool_calls")
        call = CallHeader("call:0", "g", f"c{number}")
        turns.append(Turn(Role.ASSISTANT, (Part("call:0", "{}"),), calls=(call,), generation=generation))
        turns.append(Turn(Role.TOOL, (Part("text", f"{number} done"),), result=ResultHeader(f"c{number}", "g")))
    trace = Trace(tuple(turns))
    read = exported_and_imported(trace, tmp_path)
    generations = [turn.generation for turn in read.turns if turn.generation is not None]
    assert ["".join(tool.name for tool in generation.tools) for generation in generations] == list(offered)
    codes = [diagnostic.rule.code for diagnostic in inspect_trace(read).diagnostics]
    assert codes.count("T401") == sum("g" not in names for names in offered if names)


@pytest.mark.parametrize("status", [None, 429])
@pytest.mark.parametrize("code", [None, "rate_limit"])
@pytest.mark.parametrize("phase", list(ErrorPhase))
def test_an_import_of_an_export_has_the_same_failures_and_repetitions(
    phase: ErrorPhase, code: str | None, status: int | None, tmp_path: Path
) -> None:
    turns = [Turn(Role.USER, (Part("text", "Do it"),))]
    for attempt, said in ((1, ""), (2, ""), (3, "Done."), (1, "")):
        error = None if said else GenerationError(phase, "Slow down, please.", status, code)
        generation = Generation(
            requested_model="m", attempt=attempt, error=error, finish=FinishReason.STOP if said else FinishReason.ERROR
        )
        turns.append(Turn(Role.ASSISTANT, (Part("text", said),), generation=generation))
        if said:
            turns.append(Turn(Role.USER, (Part("text", "More."),)))
    trace = Trace(tuple(turns), external_ids=(ExternalId("session_id", "s"),))
    read = exported_and_imported(trace, tmp_path)
    assert _failures(read) == _failures(trace)
    inspection, expected = inspect_trace(read), inspect_trace(trace)
    assert [diagnostic.fault.message for diagnostic in inspection.diagnostics] == [
        diagnostic.fault.message for diagnostic in expected.diagnostics
    ]
    assert (inspection.chain.status, inspection.chain.abort_reason) == (
        expected.chain.status,
        expected.chain.abort_reason,
    )


def _failures(trace: Trace) -> list[tuple[int, GenerationError | None]]:
    generations = [turn.generation for turn in trace.turns if turn.generation is not None]
    return [(generation.attempt, generation.error) for generation in generations]


def test_the_page_lists_every_attribute_that_is_written() -> None:
    page = (Path(__file__).parents[2] / "docs" / "opentelemetry.md").read_text()
    told: set[str] = set()
    for cell in re.findall(r"^\| (`weaklink[^|]*) \|", page, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", cell)
        stem = first.rpartition(".")[0]
        told |= {first, *(f"{stem}{other}" if other.startswith(".") else other for other in others)}
    source = (Path(__file__).parents[2] / "inspector" / "exporters" / "otlp.py").read_text()
    spans_only = source[: source.index("def _event(")]
    written = set(re.findall(r'f?"(weaklink\.[a-z_.]+)(?:\{[^"]*)?":', spans_only))
    assert {name.removesuffix("*").rstrip(".") for name in told} == {name.rstrip(".") for name in written}


def test_the_same_session_gives_the_same_spans_when_it_has_grown() -> None:
    trace = whole_trace(started=None)
    longer = Trace((*trace.turns, Turn(Role.TOOL, (Part("text", "1"),))), external_ids=trace.external_ids)
    assert [(span.trace_id, span.span_id) for span in spans(trace)] == [
        (span.trace_id, span.span_id) for span in spans(longer)
    ]


def test_the_request_grows_with_the_turns_and_not_with_their_square() -> None:
    turns = (Turn(Role.USER, (Part("text", "x" * 100),)), Turn(Role.ASSISTANT, (Part("text", "y" * 100),)))
    sizes = []
    for times in (100, 200):
        trace = Trace(turns * times)
        request: Json = otlp_request(trace, inspect_trace(trace), unknown_at_s=NOW_S)
        sizes.append(len(write_json(request)))
    assert sizes[1] < 2.1 * sizes[0]
