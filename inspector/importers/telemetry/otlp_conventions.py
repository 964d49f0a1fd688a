"""What the attributes of a span say about a request to a model or a run of a tool, in each convention.

OpenTelemetry's conventions for generative AI: what `gen_ai.*` attributes and events say about a span.

Messages are JSON in `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions` and
`gen_ai.tool.definitions`; in older versions they were events named after a role (`gen_ai.user.message`).

The attributes of other conventions than OpenTelemetry's own: OpenInference, OpenLLMetry and Langfuse's SDKs.

* OpenInference: `openinference.span.kind`, `llm.input_messages.N.message...`, `input.value`, `tool.*`. Source:
  Arize-ai/openinference, spec/semantic_conventions.md.
* OpenLLMetry: `gen_ai.prompt.N`, `gen_ai.completion.N`, `llm.*` and `traceloop.*`; its newer versions write
  `gen_ai.input.messages` too. Sources: traceloop/openllmetry, packages/opentelemetry-semantic-conventions-ai and the
  instrumentations.
* Langfuse: `langfuse.observation.*`, read as the observations that they become; inputs, outputs, model parameters and
  usage are JSON texts. Source: langfuse/langfuse-python, `langfuse/_client/attributes.py`; langfuse/langfuse-js,
  `packages/otel`.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from inspector.apis.openai.messages import CALLS, call_object, message_object, read_tools
from inspector.importers.source import JsonObject
from inspector.importers.telemetry.framework_messages import KnownMessages
from inspector.importers.telemetry.langfuse import read_observation
from inspector.importers.telemetry.otlp_span import (
    ERROR,
    Message,
    OtlpEvent,
    OtlpSpan,
    RequestMessages,
    SpanFacts,
    lenient_json,
    objects,
    unfolded,
    unquoted,
)
from inspector.importers.telemetry.spans import OperationKind, ToolRun, TracedSpan, filled_span
from inspector.model import Generation, Json, Turn, Usage
from inspector.wire.provider_json import compact_json

_OPERATIONS = {
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
    """What the attributes and events of this convention say; all defaults where there are none."""
    operation = span.text("gen_ai.operation.name")
    told = SpanFacts(
        kind=_OPERATIONS.get(operation, OperationKind.OTHER) if operation else None,
        requested_model=span.text("gen_ai.request.model"),
        answered_model=span.text("gen_ai.response.model"),
        response_id=span.text("gen_ai.response.id"),
        continues=span.text("gen_ai.request.previous_response_id", "openai.request.previous_response_id"),
        tools=read_tools(lenient_json(span.attributes.get("gen_ai.tool.definitions"))),
        parameters=_parameters(span),
        usage=_usage(span),
        finish_reason=_first_word(span.attributes.get("gen_ai.response.finish_reasons")),
        agent=span.text("gen_ai.agent.name", "gen_ai.workflow.name"),
        run=_tool_run(span) if operation == "execute_tool" else None,
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


def _tool_run(span: OtlpSpan) -> ToolRun:
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
    return {key: value for key, value in named if key not in _NO_PARAMETER_NAMES and "." not in key}


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
            asked.append(_genai_message(body, _ROLES[event.name]))
        elif event.name == "gen_ai.choice":
            _read_choice(body, told)
        elif event.name == _PROMPT:
            asked += _genai_texts(body.get("gen_ai.prompt"), "user")
        elif event.name == _COMPLETION:
            told.answers += _genai_texts(body.get("gen_ai.completion"), "assistant")
    if asked := asked or _genai_texts(span.attributes.get("gen_ai.prompt"), "user"):
        told.asked = RequestMessages(asked)
    if not told.answers:
        told.answers += _genai_texts(span.attributes.get("gen_ai.completion"), "assistant")


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


def _genai_message(body: JsonObject, role: str) -> Json:
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
    told.answers.append(_genai_message(message if calls is None else {CALLS: calls, **message}, "assistant"))
    finish = body.get("finish_reason")
    if isinstance(finish, str) and not told.finish_reason:
        told.finish_reason = finish


def _genai_texts(value: Json, role: str) -> list[Json]:
    """A prompt or completion: messages as JSON, or a text."""
    if value is None or value == "":
        return []
    held = lenient_json(value)
    listed = objects(held)
    if listed and all({"role", "content"} & one.keys() for one in listed):
        return [{"role": role, **one} for one in listed]
    return [{"role": role, "content": value}]


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
    """A span as other conventions read it, and what its Langfuse attributes say beyond; itself where it has none.

    `known` are the messages of its session that were read before.
    """
    if not any(key.startswith(_PREFIX) for key in span.attributes):
        return read
    said = read_observation(_row(span), known)
    said = replace(
        said,
        started=span.started,
        ended=span.ended,
        call=said.call and replace(said.call, answer=_timed(said, span)),
        warnings=read.warnings if read.kind is said.kind else said.warnings,
    )
    if read.kind is OperationKind.MODEL and said.kind is OperationKind.MODEL:
        return filled_span(read, said)
    if read.kind is OperationKind.OTHER or (read.kind is said.kind is OperationKind.TOOL and read.run is None):
        return said
    return read


def _timed(said: TracedSpan, span: OtlpSpan) -> Turn:
    assert said.call is not None
    generation = said.call.answer.generation or Generation()
    return replace(said.call.answer, generation=replace(generation, started=span.started, ended=span.ended))


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
    """The observation's metadata, in one text or an attribute a key, beside the span's other attributes."""
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

_OWN = ("traceloop.", "llm.request.", "llm.prompts", "llm.completions", "gen_ai.prompt.", "gen_ai.completion.")

_REQUESTS = {"chat": OperationKind.MODEL, "completion": OperationKind.MODEL}


def read_openllmetry(span: OtlpSpan) -> SpanFacts:
    """What the attributes of this convention say; all defaults where there are none."""
    if not any(key.startswith(_OWN) for key in span.attributes):
        return SpanFacts()
    asked = span.rows("gen_ai.prompt") or span.rows("llm.prompts")
    listed = span.rows("gen_ai.completion") or span.rows("llm.completions")
    answers = [dict(_openllmetry_message(one, "assistant")) for one in objects(unfolded(listed))]
    request_type = span.text("llm.request.type")
    requested = _REQUESTS.get(request_type, OperationKind.OTHER) if request_type else None
    work = _OPENLLMETRY_KINDS.get(span.text("traceloop.span.kind"))
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
        run=_openllmetry_run(span) if work is OperationKind.TOOL else None,
    )


def from_prompt(message: Json) -> list[Json]:
    """A message of a prompt in OpenAI's shape."""
    return [dict(_openllmetry_message(one, "user")) for one in objects(unfolded(message))]


def _openllmetry_message(one: JsonObject, role: str) -> Iterator[tuple[str, Json]]:
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


def _openllmetry_run(span: OtlpSpan) -> ToolRun:
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
