"""A step is malformed exactly if an error of its syntax is in its call; joined arguments are such an error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mutations import originals
from weaklink.inspector.chain.steps import CallFaults, Step, StepOutcome
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import CallHeader, Part, Role, Trace, Turn
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.wire.events import PROMPT_PART

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "sample_traces", *sorted((ROOT / "tests" / "cases" / "importers").iterdir()))
SAMPLES = ROOT.parent / "shared" / "samples"
JOINED = ('{"q":"cats"}{"q":"dogs"}', '{}{"q":"cats"}', '{"q":"cats"}\n{"q":"dogs"}', '{"q":"cats"}, {"q":"dogs"}')


def traces_in(folder: Path) -> Iterator[Trace]:
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        try:
            records = list(read_source(path).records) if path.is_file() else []
        except WeaklinkError:  # a file of another kind among the samples
            continue
        yield from (record for record in records if isinstance(record, Trace))


def check_steps(trace: Trace, inspection: Inspection) -> None:
    faults = CallFaults(inspection.diagnostics)
    for step in inspection.chain.steps:
        if step.outcome is StepOutcome.MALFORMED:
            cause = faults.cause_of_malformed(step.location)
            assert cause is not None, (trace.provenance, step)
            assert cause.rule.severity is Severity.ERROR, (trace.provenance, step, cause)
        else:
            assert not syntax_errors(step, inspection), (trace.provenance, step)


def syntax_errors(step: Step, inspection: Inspection) -> list[Diagnostic]:
    """The errors of syntax on a step's call; of a structured call, all of its part."""
    part = step.location.turn, step.location.part
    errors = [
        diagnostic
        for diagnostic in inspection.diagnostics
        if diagnostic.rule.severity is Severity.ERROR and diagnostic.rule.code[0] in "JF"
    ]
    beside = [error for error in errors if (error.location.turn, error.location.part) == part]
    if part[1].startswith("call:"):
        return beside
    call = step.location.range
    return [error for error in beside if error.range.start < call.end and call.start < error.range.end]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_step_of_a_log_is_malformed_exactly_if_its_call_has_an_error(folder: Path) -> None:
    for trace in traces_in(folder):
        check_steps(trace, inspect_trace(trace))


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not here")
def test_a_step_of_a_sample_is_malformed_exactly_if_its_call_has_an_error() -> None:
    for trace in traces_in(SAMPLES):
        check_steps(trace, inspect_trace(trace))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [dialect.name for dialect in formats()])
def test_a_malformed_step_of_a_case_has_its_error(name: str) -> None:
    for case in originals(name):
        prompt = (Part(PROMPT_PART, case.prompt),) if case.prompt else ()
        turns = (Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (*prompt, Part("text", case.text))))
        trace = Trace(turns, format=name)
        check_steps(trace, inspect_trace(trace))


def chat_stream(arguments: str) -> str:
    first, last = arguments[:9], arguments[9:]
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "search", "arguments": first}}
    more = {"index": 0, "function": {"arguments": last}}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [call]}, {"tool_calls": [more]}, {}]
    events = [
        {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}
        for delta in deltas
    ]
    events[-1]["choices"] = [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def responses_stream(arguments: str) -> str:
    item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "search", "arguments": ""}
    whole = item | {"arguments": arguments}
    delta = {"type": "response.function_call_arguments.delta", "item_id": "f1", "output_index": 0}
    head = {"id": "r", "object": "response", "model": "m"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {**delta, "delta": arguments[:9]},
        {**delta, "delta": arguments[9:]},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {**head, "status": "completed", "output": [whole]}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def messages_stream(arguments: str) -> str:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": []}
    block = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in (arguments[:9], arguments[9:])]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def chat_rows(arguments: str) -> str:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": arguments}}
    messages = [{"role": "user", "content": "Pets?"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    return json.dumps({"messages": messages}) + "\n"


def responses_body(arguments: str) -> str:
    call = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "search", "arguments": arguments}
    return json.dumps({"id": "r", "object": "response", "model": "m", "status": "completed", "output": [call]})


SHAPES = {
    "chat.sse": chat_stream,
    "responses.sse": responses_stream,
    "messages.sse": messages_stream,
    "rows.jsonl": chat_rows,
    "responses.json": responses_body,
}


@pytest.mark.parametrize("arguments", JOINED)
@pytest.mark.parametrize("file", SHAPES)
def test_joined_arguments_are_several_objects_at_the_second(tmp_path: Path, file: str, arguments: str) -> None:
    (tmp_path / file).write_text(SHAPES[file](arguments), encoding="utf-8")
    (trace,) = traces_in(tmp_path)
    inspection = inspect_trace(trace)
    (step,) = inspection.chain.steps
    assert step.outcome is StepOutcome.MALFORMED
    (fault,) = syntax_errors(step, inspection)
    assert fault.rule.code == "J110"
    assert fault.range.of(step.call.raw_arguments) == arguments[arguments.rindex('{"q') :]
    check_steps(trace, inspection)


def test_two_calls_in_one_tag_break_at_the_second_unless_its_tool_answers() -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {}}\n{"name": "g", "arguments": {}}\n</tool_call>'
    calls = Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (Part("text", text),))
    result = Turn(Role.TOOL, (Part("text", '<tool_response>\n{"name": "f", "content": "1"}\n</tool_response>'),))
    other = Turn(Role.TOOL, (Part("text", '<tool_response>\n{"name": "g", "content": "2"}\n</tool_response>'),))
    answer = Turn(Role.ASSISTANT, (Part("text", "Done: 1."),))
    lost = inspect_trace(Trace((*calls, result, answer), format="hermes")).chain
    assert [step.outcome.value for step in lost.steps] == ["ok", "malformed"]
    assert lost.broken is not None
    assert (lost.broken.step, lost.broken.code) == (2, "J110")
    taken = inspect_trace(Trace((*calls, result, other, answer), format="hermes")).chain
    assert (taken.status.value, taken.steps[1].recovery) == ("recovered", "answered")


def test_a_fault_of_structured_arguments_is_at_its_characters_also_after_escapes() -> None:
    arguments = '{"path": "C:\\\\x \\u00e9", "note": "line\none", "deep": True}'
    answer = Turn(Role.ASSISTANT, (Part("call:0", arguments),), calls=(CallHeader("call:0", "save"),))
    trace = Trace((Turn(Role.USER, (Part("text", "Save it."),)), answer))
    faults = [diagnostic.fault for diagnostic in inspect_trace(trace).diagnostics if diagnostic.rule.code[0] == "J"]
    assert [(fault.rule.code, fault.range.of(arguments)) for fault in faults] == [("J106", "\n"), ("J105", "True")]
    fixed = arguments
    for edit in sorted((e for fault in faults if fault.fix for e in fault.fix.edits), key=lambda e: -e.range.start):
        fixed = fixed[: edit.range.start] + edit.text + fixed[edit.range.end :]
    assert json.loads(fixed) == {"path": "C:\\x é", "note": "line\none", "deep": True}


def test_a_call_without_its_closer_is_malformed_also_where_its_tool_answered() -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {}}'
    turns = Turn(Role.USER, (Part("text", "Go."),)), Turn(Role.ASSISTANT, (Part("text", text),))
    result = Turn(Role.TOOL, (Part("text", '<tool_response>\n{"name": "f", "content": "1"}\n</tool_response>'),))
    answer = Turn(Role.ASSISTANT, (Part("text", "Done: 1."),))
    open_call = inspect_trace(Trace(turns, format="hermes")).chain
    assert [step.outcome.value for step in open_call.steps] == ["malformed"]
    assert open_call.broken is not None
    assert open_call.broken.code == "F301"
    taken = inspect_trace(Trace((*turns, result, answer), format="hermes")).chain
    assert (taken.status.value, taken.steps[0].outcome.value, taken.steps[0].recovery) == (
        "recovered",
        "malformed",
        "answered",
    )
