"""Reads model requests and tool runs from a span in OpenLLMetry's convention.

Messages are attributes such as `gen_ai.prompt.0.role` and `gen_ai.completion.0.content`; other facts are in `llm.*` and
`traceloop.*`. Newer versions write `gen_ai.input.messages`, too, which `genai_convention` reads. Sources:
traceloop/openllmetry, packages/opentelemetry-semantic-conventions-ai and the instrumentations.
"""

from collections.abc import Iterator

from weaklink.inspector.apis.openai.messages import CALLS, call_objects, message_object, read_tools
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.otlp_span import (
    OtlpSpan,
    RequestMessages,
    SpanFacts,
    objects,
    unfolded,
    unquoted,
)
from weaklink.inspector.importers.telemetry.spans import OperationKind, ToolRun
from weaklink.inspector.json_text import text_or_json
from weaklink.inspector.model import Json, Usage

_KINDS = {
    "workflow": OperationKind.AGENT,
    "agent": OperationKind.AGENT,
    "tool": OperationKind.TOOL,
    "task": OperationKind.OTHER,
}

_PREFIXES = (
    "traceloop.",
    "llm.request.",
    "llm.prompts",
    "llm.completions",
    "gen_ai.prompt.",
    "gen_ai.completion.",
)

_MEMBERS = ("tool_call_id", "name", "finish_reason", "reasoning_content", "reasoning", "refusal")
_REQUESTS = {"chat": OperationKind.MODEL, "completion": OperationKind.MODEL}


def read_openllmetry(span: OtlpSpan) -> SpanFacts:
    """The facts from OpenLLMetry's attributes; all defaults if there are none."""
    if not any(key.startswith(_PREFIXES) for key in span.attributes):
        return SpanFacts()
    prompt = span.rows("gen_ai.prompt") or span.rows("llm.prompts")
    listed = span.rows("gen_ai.completion") or span.rows("llm.completions")
    answers = [_message(one, "assistant") for one in objects(unfolded(listed))]
    request_type = span.text("llm.request.type")
    requested = _REQUESTS.get(request_type, OperationKind.OTHER) if request_type else None
    work = _KINDS.get(span.text("traceloop.span.kind"))
    return SpanFacts(
        kind=requested or (OperationKind.MODEL if prompt or answers else work),
        request_messages=RequestMessages(prompt, from_prompt) if prompt else RequestMessages(),
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
        finish_reason=next((word for answer in answers if isinstance(word := answer.get("finish_reason"), str)), "")
        or span.text("llm.response.finish_reason", "llm.response.stop_reason"),
        agent=span.text("traceloop.entity.name", "traceloop.workflow.name") if work is OperationKind.AGENT else "",
        run=_run(span) if work is OperationKind.TOOL else None,
    )


def from_prompt(message: Json) -> list[Json]:
    """A message of a prompt in OpenAI's shape."""
    return [_message(one, "user") for one in objects(unfolded(message))]


def _message(message: JsonObject, role: str) -> JsonObject:
    legacy = message.get("function_call")
    calls: list[Json] = [*call_objects(objects(message.get(CALLS)))]
    if isinstance(legacy, dict):
        calls.append({"function": legacy})
    kept = {key: message.get(key) for key in _MEMBERS}
    return message_object(message.get("role") or role, _content(message.get("content")), calls=calls, **kept)


def _content(content: Json) -> Json:
    """The list of blocks in a JSON text; a text that only looks like one is unchanged."""
    decoded = json_within(content)
    blocks = isinstance(decoded, list) and decoded and all(isinstance(one, dict) and "type" in one for one in decoded)
    return decoded if blocks else content


def _functions(span: OtlpSpan) -> Iterator[Json]:
    for one in objects(span.tree("llm.request.functions")):
        yield {**one, "parameters": json_within(one.get("parameters") or one.get("arguments"))}


def _run(span: OtlpSpan) -> ToolRun:
    """A tool's run; its input is `{"args": [...], "kwargs": {...}}`, or `{"inputs": {...}}` from LangChain."""
    arguments = json_within(span.attributes.get("traceloop.entity.input"))
    if isinstance(arguments, dict):
        arguments = next((arguments[key] for key in ("inputs", "input_str", "kwargs") if arguments.get(key)), arguments)
    output = span.attributes.get("traceloop.entity.output")
    text = text_or_json(arguments)
    return ToolRun(
        span.text("gen_ai.tool.name", "traceloop.entity.name") or span.name,
        span.text("gen_ai.tool.call.id"),
        text,
        unquoted(output),
    )
