"""Reads model requests and tool runs from a span in OpenInference's convention.

The kind is in `openinference.span.kind`, messages are attributes such as `llm.input_messages.0.message.role`, other
inputs and outputs are in `input.value`, `output.value` and `tool.*`. Source: Arize-ai/openinference,
spec/semantic_conventions.md.
"""

from collections.abc import Iterator

from weaklink.inspector.apis.openai.messages import CALLS, call_object, message_object, read_tools
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
from weaklink.inspector.json_text import object_of, text_or_json
from weaklink.inspector.model import Json, Usage

_KINDS = {"LLM": OperationKind.MODEL, "TOOL": OperationKind.TOOL, "AGENT": OperationKind.AGENT}
_FIRST_TOKEN = "First Token Stream Event"
_COUNT = "llm.token_count."
_NO_PARAMETERS = frozenset({"model", "messages", "tools", "input", "prompt"})


def read_openinference(span: OtlpSpan) -> SpanFacts:
    """The facts from OpenInference's attributes; all defaults if there are none."""
    word = span.text("openinference.span.kind").upper()
    kind = _KINDS.get(word, OperationKind.OTHER) if word else None
    facts = SpanFacts(kind=kind)
    if kind is OperationKind.MODEL:
        _read_call(span, facts)
    elif kind is OperationKind.TOOL:
        facts.run = _run(span)
    elif kind is OperationKind.AGENT:
        facts.agent = span.text("agent.name", "graph.node.name") or span.name
    return facts


def _read_call(span: OtlpSpan, facts: SpanFacts) -> None:
    if listed := span.rows("llm.input_messages"):
        facts.request_messages = RequestMessages(listed, from_openinference)
    facts.answers = [message for row in span.rows("llm.output_messages") for message in from_openinference(row)]
    raw_request, answer = span.attributes.get("input.value"), span.attributes.get("output.value")
    facts.raw_request = json_within(raw_request)
    facts.raw_answer = answer if isinstance(answer, str) else ""
    if not facts.request_messages and not facts.answers:
        if prompts := _prompts(span):
            facts.request_messages = RequestMessages(prompts)
        facts.answers = _texts(span.tree("llm.choices"), "completion", "assistant")
    if not facts.request_messages and isinstance(facts.raw_request, str) and facts.raw_request:
        facts.request_messages = RequestMessages([{"role": "user", "content": facts.raw_request}])
    if not facts.answers and isinstance(json_within(answer), str) and answer:
        facts.answers = [{"role": "assistant", "content": answer}]
    parameters = json_within(span.attributes.get("llm.invocation_parameters"))
    if isinstance(parameters, dict):
        facts.parameters = {key: value for key, value in parameters.items() if key not in _NO_PARAMETERS}
    facts.tools = read_tools([*_tools(span)])
    facts.requested_model = span.text("llm.model_name")
    facts.finish_reason = span.text("llm.finish_reason")
    facts.usage = Usage(
        span.number(f"{_COUNT}prompt"),
        span.number(f"{_COUNT}completion"),
        span.number(f"{_COUNT}completion_details.reasoning"),
        span.number(f"{_COUNT}prompt_details.cache_read"),
    )
    facts.first_token_s = next((event.at_s for event in span.events if event.name == _FIRST_TOKEN), None)


def from_openinference(message: Json) -> list[Json]:
    """A message of this convention, flat or nested, in OpenAI's shape."""
    inner = (one.get("message", one) for one in objects(unfolded(message)))
    return [_message(one) for one in inner if isinstance(one, dict)]


def _message(message: JsonObject) -> JsonObject:
    calls: list[Json] = [object_of(call.get("tool_call")) or call for call in objects(message.get(CALLS))]
    if message.get("function_call_name"):
        arguments = message.get("function_call_arguments_json", "")
        calls.append(call_object(message["function_call_name"], arguments))
    content = [*_blocks(message.get("contents"))] or message.get("content")
    kept = {key: message.get(key) for key in ("tool_call_id", "name", "reasoning_content")}
    return message_object(message.get("role", ""), content, calls=calls, **kept)


def _blocks(contents: Json) -> Iterator[Json]:
    for content in objects(contents):
        block = content.get("message_content", content)
        if isinstance(block, dict) and block.get("type") in ("reasoning", "thinking"):
            words = next(
                (word for key in ("text", "reasoning", "thinking") if isinstance(word := block.get(key), str)), ""
            )
            yield {"type": "reasoning", "text": words}
        else:
            yield block


def _prompts(span: OtlpSpan) -> list[Json]:
    listed = span.tree("llm.prompts")
    if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
        return [{"role": "user", "content": one} for one in listed]
    return _texts(listed, "prompt", "user")


def _texts(listed: Json, key: str, role: str) -> list[Json]:
    inner = (one.get(key) for one in objects(listed))
    return [{"role": role, "content": one.get("text")} for one in inner if isinstance(one, dict)]


def _tools(span: OtlpSpan) -> Iterator[Json]:
    for one in objects(span.tree("llm.tools")):
        tool = one.get("tool", one)
        yield json_within(tool.get("json_schema", tool)) if isinstance(tool, dict) else tool


def _run(span: OtlpSpan) -> ToolRun:
    arguments = span.attributes.get("tool.parameters" if span.text("tool.parameters") else "input.value")
    result = span.attributes.get("output.value")
    return ToolRun(
        span.text("tool.name") or span.name,
        span.text("tool.id", "tool_call.id", "gen_ai.tool.call.id"),
        text_or_json(arguments),
        unquoted(result),
    )
