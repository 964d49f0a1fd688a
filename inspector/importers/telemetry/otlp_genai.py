"""OpenTelemetry's conventions for generative AI: what `gen_ai.*` attributes and events say about a span.

Messages are JSON in `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions` and
`gen_ai.tool.definitions`; in older versions they were events named after a role (`gen_ai.user.message`).
"""

from collections.abc import Iterator, Sequence

import msgspec

from inspector.apis.openai.messages import CALLS, call_object, message_object, read_tools
from inspector.importers.source import JsonObject
from inspector.importers.telemetry.otlp_span import (
    Message,
    OtlpEvent,
    OtlpSpan,
    RequestMessages,
    SpanFacts,
    lenient_json,
    objects,
)
from inspector.importers.telemetry.spans import OperationKind, ToolRun
from inspector.model import Json, Usage
from inspector.wire.provider_json import compact_json

_KINDS = {
    "chat": OperationKind.MODEL,
    "text_completion": OperationKind.MODEL,
    "generate_content": OperationKind.MODEL,
    "responses": OperationKind.MODEL,
    "message": OperationKind.MODEL,
    "execute_tool": OperationKind.TOOL,
    "invoke_agent": OperationKind.AGENT,
    "invoke_workflow": OperationKind.AGENT,
}

_REQUEST = "gen_ai.request."
_NO_PARAMETERS = frozenset({"model", "id"})
_BODIES = ("gen_ai.event.content", "event_body", "body")
_CHUNK = "gen_ai.content.completion.chunk"
_FIRST_TOKENS = frozenset({_CHUNK, "gen_ai.choice.chunk", "llm.content.completion.chunk"})
_PROMPT, _COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"
_decode_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read_genai(span: OtlpSpan) -> SpanFacts:
    """What the attributes and events of this convention say; all defaults where there are none."""
    operation = span.text("gen_ai.operation.name")
    told = SpanFacts(
        kind=_KINDS.get(operation, OperationKind.OTHER) if operation else None,
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


def _read_messages(span: OtlpSpan, told: SpanFacts) -> None:
    told_system = lenient_json(span.attributes.get("gen_ai.system_instructions"))
    parts: list[Json] = [{"type": "text", "content": told_system}] if isinstance(told_system, str) else []
    parts = [*parts, *objects(told_system)]
    system: list[Json] = [{"role": "system", "parts": parts}] if parts else []
    asked = _listed(span.attributes.get("gen_ai.input.messages"), "user")
    if asked or system:
        told.asked = RequestMessages([*system, *asked], in_openai_shape)
    answers = span.attributes.get("gen_ai.output.messages")
    read = lenient_json(answers)
    if isinstance(read, str) and read:
        told.answers = [read if _is_json(read) else {"role": "assistant", "content": read}]
    elif listed := objects(read):
        told.answers = [message for one in listed for message in in_openai_shape(one)]
    told.is_cut = _is_cut(told.asked.messages) or _is_cut(told.answers)
    finish = next((_first_word(one.get("finish_reason")) for one in objects(told.answers)), "")
    told.finish_reason = told.finish_reason or finish


def _listed(held: Json, role: str) -> list[Message]:
    """The messages of an attribute, each as its JSON text; what is left of them as one text where they were cut off."""
    if isinstance(held, str) and held.lstrip().startswith("["):
        try:
            return [*_decode_texts(held)]
        except (ValueError, RecursionError):
            pass
    read = lenient_json(held)
    if isinstance(read, str) and read:
        return [read if _is_json(read) else {"role": role, "content": read}]
    return [*objects(read)]


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _is_cut(messages: Sequence[Message]) -> bool:
    return len(messages) > 0 and isinstance(messages[-1], str)


def in_openai_shape(message: Json) -> list[Json]:
    """A message of parts as messages of OpenAI's shape; one without parts as it is."""
    if not isinstance(message, dict):
        return []
    parts = message.get("parts")
    if not isinstance(parts, list):
        return [message]
    return [*_of_parts(message.get("role"), parts, message.get("finish_reason"))]


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
            calls.append(call_object(part.get("name"), part.get("arguments"), part.get("id")))
        elif kind == "tool_call_response":
            results.append(_result(part))
        elif kind in ("text", "reasoning") and isinstance(words := part.get("content"), str):
            blocks.append({"type": kind, "text": words})
        else:
            blocks.append(part)
    yield from results
    if blocks or calls or not results:
        yield message_object(role, blocks, calls=calls, finish_reason=finish or None)


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


_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}


def read_events(span: OtlpSpan, told: SpanFacts) -> None:
    """Add what the events of a span say."""
    asked: list[Json] = []
    for event in (*span.events, *_listed_bodies(span)):
        if event.name in _FIRST_TOKENS and told.first_token_s is None:
            told.first_token_s = event.at_s
            continue
        body = _body(event)
        if event.name in _ROLES:
            asked.append(_message(body, _ROLES[event.name]))
        elif event.name == "gen_ai.choice":
            _read_choice(body, told)
        elif event.name == _PROMPT:
            asked += _texts(body.get("gen_ai.prompt"), "user")
        elif event.name == _COMPLETION:
            told.answers += _texts(body.get("gen_ai.completion"), "assistant")
    if asked := asked or _texts(span.attributes.get("gen_ai.prompt"), "user"):
        told.asked = RequestMessages(asked)
    if not told.answers:
        told.answers += _texts(span.attributes.get("gen_ai.completion"), "assistant")


def _listed_bodies(span: OtlpSpan) -> Iterator[OtlpEvent]:
    for one in objects(lenient_json(span.attributes.get("events"))):
        name = one.get("event.name")
        if isinstance(name, str):
            yield OtlpEvent(name, None, one)


def _body(event: OtlpEvent) -> JsonObject:
    """What an event holds, wherever it stands."""
    held = dict(event.attributes)
    for key in _BODIES:
        inner = lenient_json(held.get(key))
        if isinstance(inner, dict):
            held |= inner
        elif isinstance(inner, str) and inner:
            held.setdefault("content", inner)
    return held


def _message(body: JsonObject, role: str) -> Json:
    kept: JsonObject = {"role": role}
    named = body.get("role")
    if isinstance(named, str) and named:
        kept["role"] = named
    if (calls := lenient_json(body.get(CALLS))) is not None:
        kept[CALLS] = calls
    for key in ("content", "reasoning_content", "reasoning", "name"):
        if key in body:
            kept[key] = body[key]
    if role == "tool":
        kept["tool_call_id"] = body.get("id", body.get("tool_call_id"))
    return kept


def _read_choice(body: JsonObject, told: SpanFacts) -> None:
    held = lenient_json(body.get("message"))
    message = held if isinstance(held, dict) else {"content": body.get("content", "") if held is None else held}
    calls = body.get(CALLS)
    told.answers.append(_message(message if calls is None else {CALLS: calls, **message}, "assistant"))
    finish = body.get("finish_reason")
    if isinstance(finish, str) and not told.finish_reason:
        told.finish_reason = finish


def _texts(value: Json, role: str) -> list[Json]:
    """A prompt or completion: messages as JSON, or a text."""
    if value is None or value == "":
        return []
    held = lenient_json(value)
    listed = objects(held)
    if listed and all({"role", "content"} & one.keys() for one in listed):
        return [{"role": role, **one} for one in listed]
    return [{"role": role, "content": value}]
