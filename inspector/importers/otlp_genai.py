"""OpenTelemetry's conventions for generative AI: what `gen_ai.*` attributes tell of a span.

Now messages stand as JSON in `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions` and
`gen_ai.tool.definitions`; before, they were events (`inspector.importers.otlp_genai_events`). Sources:
open-telemetry/semantic-conventions, docs/gen-ai and its deprecated attributes.
"""

from collections.abc import Iterator

from inspector.importers.otlp_genai_events import read_events
from inspector.importers.otlp_span import OtlpSpan, lenient_json, objects
from inspector.importers.otlp_told import Told
from inspector.importers.source import JsonObject
from inspector.importers.spans import SpanKind, ToolRun
from inspector.model import Json, Usage
from inspector.wire.json_text import compact_json
from inspector.wire.openai_messages import read_tools

_KINDS = {
    "chat": SpanKind.MODEL,
    "text_completion": SpanKind.MODEL,
    "generate_content": SpanKind.MODEL,
    "responses": SpanKind.MODEL,
    "message": SpanKind.MODEL,
    "execute_tool": SpanKind.TOOL,
    "invoke_agent": SpanKind.AGENT,
    "invoke_workflow": SpanKind.AGENT,
}
_REQUEST = "gen_ai.request."
_NO_PARAMETERS = frozenset({"model", "id"})


def read_genai(span: OtlpSpan) -> Told:
    """What the attributes and events of this convention say; all defaults where there are none."""
    operation = span.text("gen_ai.operation.name")
    told = Told(
        kind=_KINDS.get(operation, SpanKind.OTHER) if operation else None,
        requested_model=span.text("gen_ai.request.model"),
        answered_model=span.text("gen_ai.response.model"),
        response_id=span.text("gen_ai.response.id"),
        continues=span.text("gen_ai.request.previous_response_id", "openai.request.previous_response_id"),
        tools=read_tools(lenient_json(span.attributes.get("gen_ai.tool.definitions"))),
        parameters=_parameters(span),
        usage=_usage(span),
        finish_reason=_first_word(span.attributes.get("gen_ai.response.finish_reasons")),
        agent=span.text("gen_ai.agent.name", "gen_ai.workflow.name"),
        run=_run(span) if operation == "execute_tool" else None,
    )
    read_events(span, told)
    _read_messages(span, told)
    return told


def _read_messages(span: OtlpSpan, told: Told) -> None:
    told_system = lenient_json(span.attributes.get("gen_ai.system_instructions"))
    parts: list[Json] = [{"type": "text", "content": told_system}] if isinstance(told_system, str) else []
    parts = [*parts, *objects(told_system)]
    system = [*_of_parts("system", parts)] if parts else []
    asked = list(_messages(span, "gen_ai.input.messages", told))
    if asked or system:
        told.asked = [*system, *asked]
    answers = list(_messages(span, "gen_ai.output.messages", told))
    if answers:
        told.answers = answers
    finish = next((_first_word(one.get("finish_reason")) for one in objects(answers)), "")
    told.finish_reason = told.finish_reason or finish


def _messages(span: OtlpSpan, key: str, told: Told) -> Iterator[Json]:
    """The messages of an attribute in OpenAI's shape; what is left of them as a text where they were cut off."""
    held = span.attributes.get(key)
    listed = lenient_json(held)
    if isinstance(listed, str) and listed:
        told.is_cut = listed.lstrip().startswith(("{", "["))
        yield listed if told.is_cut else {"role": "user" if key == "gen_ai.input.messages" else "", "content": listed}
    for message in objects(listed):
        parts = message.get("parts")
        if isinstance(parts, list):
            yield from _of_parts(message.get("role"), parts, message.get("finish_reason"))
        else:
            yield message


def _of_parts(role: Json, parts: list[Json], finish: Json = None) -> Iterator[Json]:
    """A message of parts as messages of OpenAI's shape: each result of a tool is one by itself."""
    blocks: list[Json] = []
    calls: list[Json] = []
    results: list[Json] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict):
            blocks.append(part)
        elif kind == "tool_call":
            calls.append({"id": part.get("id"), "function": _function(part)})
        elif kind == "tool_call_response":
            results.append(_result(part))
        elif kind in {"text", "reasoning"} and isinstance(words := part.get("content"), str):
            blocks.append({"type": kind, "text": words})
        else:
            blocks.append(part)
    yield from results
    if blocks or calls or not results:
        message: JsonObject = {"role": role, "content": blocks}
        yield message | ({"tool_calls": calls} if calls else {}) | ({"finish_reason": finish} if finish else {})


def _function(part: JsonObject) -> Json:
    return {"name": part.get("name"), "arguments": part.get("arguments")}


def _result(part: JsonObject) -> Json:
    given = next((part[key] for key in ("response", "result", "content") if part.get(key) is not None), "")
    words = given if isinstance(given, str) else compact_json(given)
    return {"role": "tool", "tool_call_id": part.get("id"), "name": part.get("name"), "content": words}


def _run(span: OtlpSpan) -> ToolRun:
    result = span.attributes.get("gen_ai.tool.call.result")
    arguments = span.attributes.get("gen_ai.tool.call.arguments")
    return ToolRun(
        span.text("gen_ai.tool.name"),
        span.text("gen_ai.tool.call.id"),
        "" if arguments is None else arguments if isinstance(arguments, str) else compact_json(arguments),
        result if result is None or isinstance(result, str) else compact_json(result),
    )


def _parameters(span: OtlpSpan) -> JsonObject:
    named = ((key.removeprefix(_REQUEST), value) for key, value in span.attributes.items() if key.startswith(_REQUEST))
    return {key: value for key, value in named if key not in _NO_PARAMETERS and "." not in key}


def _usage(span: OtlpSpan) -> Usage:
    return Usage(
        span.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        span.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        span.number("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        span.number("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
    )


def _first_word(value: Json) -> str:
    first = value[0] if isinstance(value, list) and value else lenient_json(value)
    if isinstance(first, list):
        return _first_word(first) if first else ""
    return first if isinstance(first, str) else ""
