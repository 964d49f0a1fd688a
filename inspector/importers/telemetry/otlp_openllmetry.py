"""OpenLLMetry's attributes: `gen_ai.prompt.N`, `gen_ai.completion.N`, `llm.*` and `traceloop.*`.

Its newer versions write `gen_ai.input.messages` too. Sources: traceloop/openllmetry,
packages/opentelemetry-semantic-conventions-ai and the instrumentations.
"""

from collections.abc import Iterator

from inspector.apis.openai.messages import CALLS, call_object, read_tools
from inspector.importers.source import JsonObject
from inspector.importers.telemetry.otlp_span import (
    OtlpSpan,
    RequestMessages,
    SpanFacts,
    lenient_json,
    objects,
    unfolded,
    unquoted,
)
from inspector.importers.telemetry.spans import OperationKind, ToolRun
from inspector.model import Json, Usage
from inspector.wire.provider_json import compact_json

_KINDS = {
    "workflow": OperationKind.AGENT,
    "agent": OperationKind.AGENT,
    "tool": OperationKind.TOOL,
    "task": OperationKind.OTHER,
}

_OWN = ("traceloop.", "llm.request.", "llm.prompts", "llm.completions", "gen_ai.prompt.", "gen_ai.completion.")
_REQUESTS = {"chat": OperationKind.MODEL, "completion": OperationKind.MODEL}


def read_openllmetry(span: OtlpSpan) -> SpanFacts:
    """What the attributes of this convention say; all defaults where there are none."""
    if not any(key.startswith(_OWN) for key in span.attributes):
        return SpanFacts()
    asked = span.rows("gen_ai.prompt") or span.rows("llm.prompts")
    listed = span.rows("gen_ai.completion") or span.rows("llm.completions")
    answers = [dict(_message(one, "assistant")) for one in objects(unfolded(listed))]
    request_type = span.text("llm.request.type")
    requested = _REQUESTS.get(request_type, OperationKind.OTHER) if request_type else None
    work = _KINDS.get(span.text("traceloop.span.kind"))
    return SpanFacts(
        kind=requested or (OperationKind.MODEL if asked or answers else work),
        asked=RequestMessages(asked, from_prompt) if asked else RequestMessages(),
        answers=[*answers],
        tools=read_tools([*_functions(span)]),
        usage=Usage(
            span.number("llm.usage.prompt_tokens"),
            span.number("llm.usage.completion_tokens"),
            span.number("llm.usage.reasoning_tokens"),
            span.number("llm.usage.cache_read_input_tokens"),
        ),
        requested_model=span.text("llm.request.model"),
        answered_model=span.text("llm.response.model"),
        finish_reason=next((word for one in answers if isinstance(word := one.get("finish_reason"), str)), "")
        or span.text("llm.response.finish_reason", "llm.response.stop_reason"),
        agent=span.text("traceloop.entity.name", "traceloop.workflow.name") if work is OperationKind.AGENT else "",
        run=_run(span) if work is OperationKind.TOOL else None,
    )


def from_prompt(message: Json) -> list[Json]:
    """A message of a prompt in OpenAI's shape."""
    return [dict(_message(one, "user")) for one in objects(unfolded(message))]


def _message(one: JsonObject, role: str) -> Iterator[tuple[str, Json]]:
    yield "role", one.get("role") or role
    yield "content", _content(one.get("content"))
    calls: list[Json] = [
        call_object(call.get("name"), call.get("arguments"), call.get("id")) for call in objects(one.get(CALLS))
    ]
    legacy = one.get("function_call")
    if isinstance(legacy, dict):
        calls.append({"function": legacy})
    if calls:
        yield CALLS, calls
    for key in ("tool_call_id", "name", "finish_reason", "reasoning_content", "reasoning", "refusal"):
        if one.get(key) is not None:
            yield key, one[key]


def _content(content: Json) -> Json:
    """A list of blocks is written as JSON here, and a text that merely looks like it is none."""
    held = lenient_json(content)
    blocks = isinstance(held, list) and held and all(isinstance(one, dict) and "type" in one for one in held)
    return held if blocks else content


def _functions(span: OtlpSpan) -> Iterator[Json]:
    for one in objects(span.tree("llm.request.functions")):
        yield {**one, "parameters": lenient_json(one.get("parameters") or one.get("arguments"))}


def _run(span: OtlpSpan) -> ToolRun:
    """A tool's input is `{"args": [...], "kwargs": {...}}`, or `{"inputs": {...}}` in LangChain's case."""
    given = lenient_json(span.attributes.get("traceloop.entity.input"))
    if isinstance(given, dict):
        given = next((given[key] for key in ("inputs", "input_str", "kwargs") if given.get(key)), given)
    output = span.attributes.get("traceloop.entity.output")
    words = "" if given is None else given if isinstance(given, str) else compact_json(given)
    return ToolRun(
        span.text("gen_ai.tool.name", "traceloop.entity.name") or span.name,
        span.text("gen_ai.tool.call.id"),
        words,
        unquoted(output),
    )
