"""OpenInference's attributes: `openinference.span.kind`, `llm.input_messages.N.message...`, `input.value`, `tool.*`.

Source: Arize-ai/openinference, spec/semantic_conventions.md.
"""

from collections.abc import Iterator

from inspector.apis.openai.messages import CALLS, read_tools
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

_KINDS = {"LLM": OperationKind.MODEL, "TOOL": OperationKind.TOOL, "AGENT": OperationKind.AGENT}
_FIRST_TOKEN = "First Token Stream Event"
_COUNT = "llm.token_count."
_NO_PARAMETERS = frozenset({"model", "messages", "tools", "input", "prompt"})


def read_openinference(span: OtlpSpan) -> SpanFacts:
    """What the attributes of this convention say; all defaults where there are none."""
    word = span.text("openinference.span.kind").upper()
    kind = _KINDS.get(word, OperationKind.OTHER) if word else None
    told = SpanFacts(kind=kind)
    if kind is OperationKind.MODEL:
        _read_call(span, told)
    elif kind is OperationKind.TOOL:
        told.run = _run(span)
    elif kind is OperationKind.AGENT:
        told.agent = span.text("agent.name", "graph.node.name") or span.name
    return told


def _read_call(span: OtlpSpan, told: SpanFacts) -> None:
    if listed := span.rows("llm.input_messages"):
        told.asked = RequestMessages(listed, from_openinference)
    told.answers = [said for one in span.rows("llm.output_messages") for said in from_openinference(one)]
    asked, answer = span.attributes.get("input.value"), span.attributes.get("output.value")
    told.raw_request = lenient_json(asked)
    told.raw_answer = answer if isinstance(answer, str) else ""
    if not told.asked and not told.answers:
        if prompts := _prompts(span):
            told.asked = RequestMessages(prompts)
        told.answers = _texts(span.tree("llm.choices"), "completion", "assistant")
    if not told.asked and isinstance(told.raw_request, str) and told.raw_request:
        told.asked = RequestMessages([{"role": "user", "content": told.raw_request}])
    if not told.answers and isinstance(lenient_json(answer), str) and answer:
        told.answers = [{"role": "assistant", "content": answer}]
    parameters = lenient_json(span.attributes.get("llm.invocation_parameters"))
    if isinstance(parameters, dict):
        told.parameters = {key: value for key, value in parameters.items() if key not in _NO_PARAMETERS}
    told.tools = read_tools([*_tools(span)])
    told.requested_model = span.text("llm.model_name")
    told.finish_reason = span.text("llm.finish_reason")
    told.usage = Usage(
        span.number(f"{_COUNT}prompt"),
        span.number(f"{_COUNT}completion"),
        span.number(f"{_COUNT}completion_details.reasoning"),
        span.number(f"{_COUNT}prompt_details.cache_read"),
    )
    told.first_token_s = next((event.at_s for event in span.events if event.name == _FIRST_TOKEN), None)


def from_openinference(message: Json) -> list[Json]:
    """A message of this convention, flat or nested, in OpenAI's shape."""
    inner = (one.get("message", one) for one in objects(unfolded(message)))
    return [dict(_message(one)) for one in inner if isinstance(one, dict)]


def _message(message: JsonObject) -> Iterator[tuple[str, Json]]:
    yield "role", message.get("role", "")
    blocks = [*_blocks(message.get("contents"))]
    if blocks or "content" in message:
        yield "content", blocks or message["content"]
    calls: list[Json] = [
        inner if isinstance(inner := call.get("tool_call"), dict) else call for call in objects(message.get(CALLS))
    ]
    if message.get("function_call_name"):
        arguments = message.get("function_call_arguments_json", "")
        calls.append({"function": {"name": message["function_call_name"], "arguments": arguments}})
    if calls:
        yield CALLS, calls
    for key in ("tool_call_id", "name", "reasoning_content"):
        if message.get(key) is not None:
            yield key, message[key]


def _blocks(contents: Json) -> Iterator[Json]:
    for one in objects(contents):
        block = one.get("message_content", one)
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
        yield lenient_json(tool.get("json_schema", tool)) if isinstance(tool, dict) else tool


def _run(span: OtlpSpan) -> ToolRun:
    arguments = span.attributes.get("tool.parameters" if span.text("tool.parameters") else "input.value")
    result = span.attributes.get("output.value")
    return ToolRun(
        span.text("tool.name") or span.name,
        span.text("tool.id", "tool_call.id", "gen_ai.tool.call.id"),
        "" if arguments is None else arguments if isinstance(arguments, str) else compact_json(arguments),
        unquoted(result),
    )
