"""Reads model requests and tool runs from the attributes of a span, in each convention.

OpenTelemetry's conventions for generative AI: `gen_ai.*` attributes and events. Messages are JSON in
`gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions` and `gen_ai.tool.definitions`; in older
versions they were events named after a role (`gen_ai.user.message`). Errors are events too, mostly log records:
`gen_ai.execute_tool.exception` and `gen_ai.client.operation.exception`, and so are evaluations
(`gen_ai.evaluation.result`). A span `plan` that has an answer is a request to a model, often around the request itself;
spans of memory and retrieval are the framework's work, which no call of the model asked for. Spans of MCP
(`mcp.method.name` is `tools/call`) are runs of tools, on the client and on the server. Read on 2026-11-29 in
open-telemetry/semantic-conventions-genai (docs/gen-ai: gen-ai-spans, gen-ai-agent-spans, execute-tool, gen-ai-events,
gen-ai-exceptions, mcp), which follows semantic-conventions 1.43; the whole is in development.

Other conventions: OpenInference, OpenLLMetry and Langfuse's SDKs.

* OpenInference: `openinference.span.kind`, `llm.input_messages.N.message...`, `input.value`, `tool.*`. Source:
  Arize-ai/openinference, spec/semantic_conventions.md.
* OpenLLMetry: `gen_ai.prompt.N`, `gen_ai.completion.N`, `llm.*` and `traceloop.*`; its newer versions write
  `gen_ai.input.messages` too. Sources: traceloop/openllmetry, packages/opentelemetry-semantic-conventions-ai and the
  instrumentations.
* Langfuse: `langfuse.observation.*`, read as the observations that they become; inputs, outputs, model parameters and
  usage are JSON texts. Source: langfuse/langfuse-python, `langfuse/_client/attributes.py`; langfuse/langfuse-js,
  `packages/otel`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import CALLS, call_object, call_objects, message_object, read_tools
from weaklink.inspector.importers.records import json_within
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages, sort_blocks
from weaklink.inspector.importers.telemetry.langfuse import read_observation
from weaklink.inspector.importers.telemetry.otlp_span import (
    ERROR,
    Message,
    OtlpEvent,
    OtlpSpan,
    RequestMessages,
    SpanFacts,
    objects,
    unfolded,
    unquoted,
)
from weaklink.inspector.importers.telemetry.spans import OperationKind, ToolRun, TracedSpan, filled_span
from weaklink.inspector.json_text import compact_json, object_of, text_or_json
from weaklink.inspector.model import Generation, Json, Turn, Usage
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
_KINDS = {"LLM": OperationKind.MODEL, "TOOL": OperationKind.TOOL, "AGENT": OperationKind.AGENT}
_FIRST_TOKEN = "First Token Stream Event"
_COUNT = "llm.token_count."
_NO_PARAMETERS = frozenset({"model", "messages", "tools", "input", "prompt"})


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


_EVALUATION = "gen_ai.evaluation."
_MOST_NOTES = 20
_LONGEST_WORD = 80
_FRAMEWORK_WORK = lazy_pattern(r"plan|retrieval|(?:search|create|update|upsert|delete)_memory(?:_store)?")


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
                if evaluations <= _MOST_NOTES:
                    yield _evaluation(event)
    if evaluations > _MOST_NOTES:
        yield f"the source has {evaluations - _MOST_NOTES} more evaluations"
    if work:
        counts = ", ".join(f"`{operation}` {count}" for operation, count in sorted(work.items()))
        yield f"the framework's own work, which no call of the model asked for, is left out: {counts}"


def _evaluation(event: OtlpEvent) -> str:
    facts = {key: event.attributes.get(f"{_EVALUATION}{key}") for key in ("name", "score.value", "score.label")}
    name, value, label = (None if fact in (None, "") else str(fact)[:_LONGEST_WORD] for fact in facts.values())
    error = event.attributes.get("error.type")
    told = " ".join(filter(None, (value, f"({label})" if value and label else label)))
    told = told or (f"failed with `{str(error)[:_LONGEST_WORD]}`" if error else "no score")
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
    )


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


_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}


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


_PREFIX = "langfuse.observation."

_COLUMNS = {
    "input": "input",
    "output": "output",
    "level": "level",
    "status_message": "statusMessage",
    "model.name": "model",
    "model.parameters": "modelParameters",
    "usage_details": "usageDetails",
    "completion_start_time": "completionStartTime",
}

_METADATA = f"{_PREFIX}metadata"


def with_langfuse(read: TracedSpan, span: OtlpSpan, known: KnownMessages) -> TracedSpan:
    """A span as other conventions read it, completed from its Langfuse attributes; unchanged if it has none.

    `known` are the messages of its session that were read before.
    """
    if not any(key.startswith(_PREFIX) for key in span.attributes):
        return read
    observation = read_observation(_row(span), known)
    observation = replace(
        observation,
        started=span.started,
        ended=span.ended,
        call=observation.call and replace(observation.call, answer=_timed(observation, span)),
        warnings=read.warnings if read.kind is observation.kind else observation.warnings,
    )
    if read.kind is OperationKind.MODEL and observation.kind is OperationKind.MODEL:
        return filled_span(read, observation)
    if read.kind is OperationKind.OTHER or (read.kind is observation.kind is OperationKind.TOOL and read.run is None):
        return observation
    return read


def _timed(observation: TracedSpan, span: OtlpSpan) -> Turn:
    assert observation.call is not None
    generation = observation.call.answer.generation or Generation()
    return replace(observation.call.answer, generation=replace(generation, started=span.started, ended=span.ended))


def _row(span: OtlpSpan) -> JsonObject:
    """A span as the observation that Langfuse makes of it."""
    kind = span.text(f"{_PREFIX}type") or ("generation" if span.text(f"{_PREFIX}model.name") else "span")
    return {
        "id": span.id,
        "parentObservationId": span.parent_id,
        "traceId": span.trace_id,
        "type": kind.upper(),
        "name": span.name,
        **dict(_facts(span)),
        "metadata": dict(_metadata(span)),
    }


def _facts(span: OtlpSpan) -> Iterator[tuple[str, Json]]:
    for name, column in _COLUMNS.items():
        value = span.attributes.get(_PREFIX + name)
        if value is not None:
            yield column, unquoted(value) if column in ("completionStartTime", "level", "statusMessage") else value
    if span.status == ERROR and span.text(f"{_PREFIX}level") in ("", "ERROR"):
        yield "level", "ERROR"
        yield "statusMessage", span.text(f"{_PREFIX}status_message") or span.message


def _metadata(span: OtlpSpan) -> Iterator[tuple[str, Json]]:
    """The observation's metadata, from one text or from one attribute per key, and the span's other attributes."""
    for key, value in span.attributes.items():
        if key.startswith(f"{_METADATA}."):
            yield key.removeprefix(f"{_METADATA}."), value
        elif not key.startswith(_PREFIX):
            yield key, value


_OPENLLMETRY_KINDS = {
    "workflow": OperationKind.AGENT,
    "agent": OperationKind.AGENT,
    "tool": OperationKind.TOOL,
    "task": OperationKind.OTHER,
}

_OPENLLMETRY_PREFIXES = (
    "traceloop.",
    "llm.request.",
    "llm.prompts",
    "llm.completions",
    "gen_ai.prompt.",
    "gen_ai.completion.",
)

_OPENLLMETRY_MEMBERS = ("tool_call_id", "name", "finish_reason", "reasoning_content", "reasoning", "refusal")
_REQUESTS = {"chat": OperationKind.MODEL, "completion": OperationKind.MODEL}


def read_openllmetry(span: OtlpSpan) -> SpanFacts:
    """The facts from OpenLLMetry's attributes; all defaults if there are none."""
    if not any(key.startswith(_OPENLLMETRY_PREFIXES) for key in span.attributes):
        return SpanFacts()
    prompt = span.rows("gen_ai.prompt") or span.rows("llm.prompts")
    listed = span.rows("gen_ai.completion") or span.rows("llm.completions")
    answers = [_openllmetry_message(one, "assistant") for one in objects(unfolded(listed))]
    request_type = span.text("llm.request.type")
    requested = _REQUESTS.get(request_type, OperationKind.OTHER) if request_type else None
    work = _OPENLLMETRY_KINDS.get(span.text("traceloop.span.kind"))
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
        run=_openllmetry_run(span) if work is OperationKind.TOOL else None,
    )


def from_prompt(message: Json) -> list[Json]:
    """A message of a prompt in OpenAI's shape."""
    return [_openllmetry_message(one, "user") for one in objects(unfolded(message))]


def _openllmetry_message(message: JsonObject, role: str) -> JsonObject:
    legacy = message.get("function_call")
    calls: list[Json] = [*call_objects(objects(message.get(CALLS)))]
    if isinstance(legacy, dict):
        calls.append({"function": legacy})
    kept = {key: message.get(key) for key in _OPENLLMETRY_MEMBERS}
    return message_object(message.get("role") or role, _content(message.get("content")), calls=calls, **kept)


def _content(content: Json) -> Json:
    """The list of blocks in a JSON text; a text that only looks like one is unchanged."""
    decoded = json_within(content)
    blocks = isinstance(decoded, list) and decoded and all(isinstance(one, dict) and "type" in one for one in decoded)
    return decoded if blocks else content


def _functions(span: OtlpSpan) -> Iterator[Json]:
    for one in objects(span.tree("llm.request.functions")):
        yield {**one, "parameters": json_within(one.get("parameters") or one.get("arguments"))}


def _openllmetry_run(span: OtlpSpan) -> ToolRun:
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
