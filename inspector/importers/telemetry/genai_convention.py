"""Reads model requests and tool runs from a span in OpenTelemetry's own convention: `gen_ai.*` attributes and events.

Messages are JSON in `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions` and
`gen_ai.tool.definitions`; in older versions they were events named after a role (`gen_ai.user.message`). Errors are
events too, mostly log records: `gen_ai.execute_tool.exception` and `gen_ai.client.operation.exception`, and so are
evaluations (`gen_ai.evaluation.result`). A span `plan` that has an answer is a request to a model, often around the
request itself; spans of memory and retrieval are the framework's work, which no call of the model asked for. Spans of
MCP (`mcp.method.name` is `tools/call`) are runs of tools, on the client and on the server.

Read on 2026-11-29 in open-telemetry/semantic-conventions-genai (docs/gen-ai: gen-ai-spans, gen-ai-agent-spans,
execute-tool, gen-ai-events, gen-ai-exceptions, mcp), which follows semantic-conventions 1.43; the whole is in
development.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from weaklink.inspector.apis.openai.messages import CALLS, message_object, read_tools
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.framework_messages import sort_blocks
from weaklink.inspector.importers.telemetry.otlp_span import (
    Message,
    OtlpEvent,
    OtlpSpan,
    RequestMessages,
    SpanFacts,
    objects,
)
from weaklink.inspector.importers.telemetry.spans import OperationKind, ToolRun
from weaklink.inspector.json_text import compact_json, object_of, text_or_json
from weaklink.inspector.model import Json, RecordedState, RunState, Usage
from weaklink.inspector.scanning import lazy_pattern

_OPERATIONS = {
    "chat": OperationKind.MODEL,
    "text_completion": OperationKind.MODEL,
    "generate_content": OperationKind.MODEL,
    "responses": OperationKind.MODEL,
    "message": OperationKind.MODEL,
    "fetch_response": OperationKind.MODEL,
    "execute_tool": OperationKind.TOOL,
    "invoke_agent": OperationKind.AGENT,
    "invoke_workflow": OperationKind.AGENT,
}
_REQUEST = "gen_ai.request."
_NO_PARAMETER_NAMES = frozenset({"model", "id"})
_BODIES = ("gen_ai.event.content", "event_body", "body")
_CHUNK = "gen_ai.content.completion.chunk"
_FIRST_TOKENS = frozenset({_CHUNK, "gen_ai.choice.chunk", "llm.content.completion.chunk"})
_PROMPT, _COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"
_decode_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode
_EVALUATION = "gen_ai.evaluation."
_MAX_NOTES = 20
_MAX_WORD_CHARS = 80
_FRAMEWORK_WORK = lazy_pattern(r"plan|retrieval|(?:search|create|update|upsert|delete)_memory(?:_store)?")
_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}


def read_genai(span: OtlpSpan) -> SpanFacts:
    """The facts from OpenTelemetry's own attributes and events; all defaults if there are none."""
    kind = _kind(span)
    facts = SpanFacts(
        kind=kind,
        requested_model=span.text("gen_ai.request.model"),
        answered_model=span.text("gen_ai.response.model"),
        response_id=span.text("weaklink.answer", "gen_ai.response.id"),
        continues=span.text(
            "weaklink.continues", "gen_ai.request.previous_response_id", "openai.request.previous_response_id"
        ),
        tools=read_tools(json_within(span.attributes.get("gen_ai.tool.definitions"))),
        parameters=_parameters(span),
        usage=_usage(span),
        finish_reason=_first_word(span.attributes.get("gen_ai.response.finish_reasons")),
        agent=span.text("gen_ai.agent.name", "gen_ai.workflow.name"),
        run=_tool_run(span) if kind is OperationKind.TOOL else None,
    )
    read_events(span, facts)
    _read_messages(span, facts)
    return facts


def _kind(span: OtlpSpan) -> OperationKind | None:
    operation = span.text("gen_ai.operation.name")
    if not operation:
        return OperationKind.TOOL if span.text("mcp.method.name") == "tools/call" else None
    if operation == "plan" and span.attributes.get("gen_ai.output.messages"):
        return OperationKind.MODEL
    return _OPERATIONS.get(operation, OperationKind.OTHER)


def session_notes(spans: Iterable[OtlpSpan]) -> Iterator[str]:
    """What the spans of a session have beside requests and runs of tools: evaluations, and work of the framework."""
    evaluations = 0
    work: Counter[str] = Counter()
    for span in spans:
        operation = span.text("gen_ai.operation.name")
        if _FRAMEWORK_WORK.fullmatch(operation) and _kind(span) is OperationKind.OTHER:
            work[operation] += 1
        for event in span.events:
            if event.name == f"{_EVALUATION}result":
                evaluations += 1
                if evaluations <= _MAX_NOTES:
                    yield _evaluation(event)
    if evaluations > _MAX_NOTES:
        yield f"the source has {evaluations - _MAX_NOTES} more evaluations"
    if work:
        counts = ", ".join(f"`{operation}` {count}" for operation, count in sorted(work.items()))
        yield f"the framework's own work, which no call of the model asked for, is left out: {counts}"


def _evaluation(event: OtlpEvent) -> str:
    facts = {key: event.attributes.get(f"{_EVALUATION}{key}") for key in ("name", "score.value", "score.label")}
    name, value, label = (None if fact in (None, "") else str(fact)[:_MAX_WORD_CHARS] for fact in facts.values())
    error = event.attributes.get("error.type")
    told = " ".join(filter(None, (value, f"({label})" if value and label else label)))
    told = told or (f"failed with `{str(error)[:_MAX_WORD_CHARS]}`" if error else "no score")
    return f"the source evaluated this session: {name or 'without a name'}: {told}"


def _read_messages(span: OtlpSpan, facts: SpanFacts) -> None:
    instructions = json_within(span.attributes.get("gen_ai.system_instructions"))
    parts: list[Json] = [{"type": "text", "content": instructions}] if isinstance(instructions, str) else []
    parts = [*parts, *objects(instructions)]
    system: list[Json] = [{"role": "system", "parts": parts}] if parts else []
    messages = _listed(span.attributes.get("gen_ai.input.messages"), "user")
    if messages or system:
        facts.request_messages = RequestMessages([*system, *messages], in_openai_shape)
    answers = span.attributes.get("gen_ai.output.messages")
    read = json_within(answers)
    if isinstance(read, str) and read:
        facts.answers = [read if _is_json(read) else {"role": "assistant", "content": read}]
    elif listed := objects(read):
        facts.answers = [message for one in listed for message in in_openai_shape(one)]
    facts.is_cut = _is_cut(facts.request_messages.messages) or _is_cut(facts.answers)
    finish = next((_first_word(answer.get("finish_reason")) for answer in objects(facts.answers)), "")
    facts.finish_reason = facts.finish_reason or finish


def _listed(value: Json, role: str) -> list[Message]:
    """The messages of an attribute, each as its JSON text; the rest of truncated JSON as one text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return [*_decode_texts(value)]
        except (ValueError, RecursionError):
            pass
    read = json_within(value)
    if isinstance(read, str) and read:
        return [read if _is_json(read) else {"role": role, "content": read}]
    return [*objects(read)]


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _is_cut(messages: Sequence[Message]) -> bool:
    return len(messages) > 0 and isinstance(messages[-1], str)


def in_openai_shape(message: Json) -> list[Json]:
    """A message of parts as messages of OpenAI's shape, one for each result in it; one without parts unchanged."""
    parts = object_of(message).get("parts")
    if not isinstance(message, dict) or not isinstance(parts, list):
        return [message] if isinstance(message, dict) else []
    found = sort_blocks(parts)
    messages: list[Json] = [*found.results]
    if found.content or found.calls or not messages:
        finish = message.get("finish_reason") or None
        messages.append(message_object(message.get("role"), found.content, calls=found.calls, finish_reason=finish))
    return messages


def _tool_run(span: OtlpSpan) -> ToolRun:
    result = span.attributes.get("gen_ai.tool.call.result")
    arguments = span.attributes.get("gen_ai.tool.call.arguments")
    return ToolRun(
        span.text("gen_ai.tool.name", "mcp.tool.name"),
        span.text("gen_ai.tool.call.id"),
        text_or_json(arguments),
        result if result is None or isinstance(result, str) else compact_json(result),
        *_ending(span),
    )


def _ending(span: OtlpSpan) -> tuple[bool | None, RecordedState | None]:
    """How the source of our own export says that a run ended: whether it failed, and its recorded state."""
    failed, state = (span.attributes.get(f"weaklink.result.{name}") for name in ("is_error", "state"))
    exit_code = span.number("weaklink.result.exit_code")
    known = next((ending for ending in RunState if ending == state), None)
    recorded = RecordedState(exit_code, known, span.text("weaklink.result.field"))
    return failed if isinstance(failed, bool) else None, recorded if (exit_code, known) != (None, None) else None


def _parameters(span: OtlpSpan) -> JsonObject:
    named = ((key.removeprefix(_REQUEST), value) for key, value in span.attributes.items() if key.startswith(_REQUEST))
    return {key: value for key, value in named if key not in _NO_PARAMETER_NAMES and "." not in key}


def _usage(span: OtlpSpan) -> Usage:
    return Usage(
        span.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        span.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        span.number("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        span.number("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
    )


def _first_word(value: Json) -> str:
    first = value[0] if isinstance(value, list) and value else json_within(value)
    if isinstance(first, list):
        return _first_word(first) if first else ""
    return first if isinstance(first, str) else ""


def read_events(span: OtlpSpan, facts: SpanFacts) -> None:
    """Add the facts from the events of a span."""
    messages: list[Json] = []
    for event in (*span.events, *_listed_bodies(span)):
        if event.name in _FIRST_TOKENS and facts.first_token_s is None:
            facts.first_token_s = event.at_s
            continue
        body = _body(event)
        if event.name in _ROLES:
            messages.append(_genai_message(body, _ROLES[event.name]))
        elif event.name == "gen_ai.choice":
            _read_choice(body, facts)
        elif event.name == _PROMPT:
            messages += _genai_texts(body.get("gen_ai.prompt"), "user")
        elif event.name == _COMPLETION:
            facts.answers += _genai_texts(body.get("gen_ai.completion"), "assistant")
    if messages := messages or _genai_texts(span.attributes.get("gen_ai.prompt"), "user"):
        facts.request_messages = RequestMessages(messages)
    if not facts.answers:
        facts.answers += _genai_texts(span.attributes.get("gen_ai.completion"), "assistant")


def _listed_bodies(span: OtlpSpan) -> Iterator[OtlpEvent]:
    for event in objects(json_within(span.attributes.get("events"))):
        name = event.get("event.name")
        if isinstance(name, str):
            yield OtlpEvent(name, None, event)


def _body(event: OtlpEvent) -> JsonObject:
    """The content of an event, whichever attribute has it."""
    body = dict(event.attributes)
    for key in _BODIES:
        inner = json_within(body.get(key))
        if isinstance(inner, dict):
            body |= inner
        elif isinstance(inner, str) and inner:
            body.setdefault("content", inner)
    return body


def _genai_message(body: JsonObject, role: str) -> Json:
    calls = json_within(body.get(CALLS))
    kept = {key: body.get(key) for key in ("reasoning_content", "reasoning", "name")}
    kept["tool_call_id"] = body.get("id", body.get("tool_call_id")) if role == "tool" else None
    named = body.get("role")
    message = message_object(named if isinstance(named, str) and named else role, body.get("content"), calls=(), **kept)
    return message if calls is None else {**message, CALLS: calls}


def _read_choice(body: JsonObject, facts: SpanFacts) -> None:
    value = json_within(body.get("message"))
    message = value if isinstance(value, dict) else {"content": body.get("content", "") if value is None else value}
    calls = body.get(CALLS)
    facts.answers.append(_genai_message(message if calls is None else {CALLS: calls, **message}, "assistant"))
    finish = body.get("finish_reason")
    if isinstance(finish, str) and not facts.finish_reason:
        facts.finish_reason = finish


def _genai_texts(value: Json, role: str) -> list[Json]:
    """A prompt or completion: messages as JSON, or a text."""
    if value is None or value == "":
        return []
    decoded = json_within(value)
    listed = objects(decoded)
    if listed and all({"role", "content"} & one.keys() for one in listed):
        return [{"role": role, **one} for one in listed]
    return [{"role": role, "content": value}]
