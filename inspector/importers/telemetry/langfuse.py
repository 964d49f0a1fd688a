"""Langfuse: traces with their observations, as the UI and the API return them, and tables of observations.

A trace is an object with a list `observations`, or `{"trace": {...}, "observations": [...]}`. A table has one
observation per row, or pages of them (`{"data": [...]}`). Columns are named in camelCase (the UI, the API) or
snake_case (exports to blob storage).
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.telemetry import framework_calls
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages, read_any_message
from weaklink.inspector.importers.telemetry.span_traces import (
    SESSION,
    TRACE,
    SpooledRow,
    session_traces,
    spooled_traces,
    utc_instant,
)
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, ToolRun, TracedSpan
from weaklink.inspector.json_text import Json, compact_json
from weaklink.inspector.model.calls import ToolDefinition
from weaklink.inspector.model.trace import (
    BodyState,
    ExternalId,
    FinishReason,
    Generation,
    GenerationError,
    Role,
    Trace,
    Usage,
)
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.answer_reader import finish_meaning
from weaklink.inspector.wire.events import DecodedRequest

_NEITHER = "this is neither a trace nor an observation of Langfuse"
NOT_STORED = "the source stores whole answers: no stream, no chunks, and only the time of the first chunk"
REWRITTEN = "the source stores the arguments of some calls parsed; their original text is lost"

KINDS = frozenset(
    {
        "SPAN",
        "GENERATION",
        "EVENT",
        "AGENT",
        "TOOL",
        "CHAIN",
        "RETRIEVER",
        "EVALUATOR",
        "EMBEDDING",
        "GUARDRAIL",
    }
)
"""The types of observations."""

_TOOL_WORDS = frozenset({"execute_tool", "TOOL", "tool", "ai.toolCall"})
_AGENT_WORDS = frozenset({"invoke_agent", "AGENT", "agent"})
_MODEL_WORDS = frozenset({"chat", "text_completion", "generate_content", "LLM"})
_OTHER_WORDS = frozenset({"embeddings", "invoke_agent", "create_agent", "ai.embed", "ai.embedMany", "EMBEDDING"})
_OPERATIONS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "ai.operationId")
_TOOL_LISTS = ("gen_ai.tool.definitions", "ai.prompt.tools", "tools")
_PREFIX = "execute_tool "
_AGENT = lazy_pattern(r"(?:agent_run|invoke_agent)\b ?\[?(?P<name>.*?)\]?")
_UPPER = lazy_pattern("[A-Z]")


def _entries(file: SourceFile) -> Iterator[SpooledRow | Trace | Skipped]:
    """The traces of each document, and the observations in the rows of a table."""
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
        elif (observations := _observations(row.value)) is not None:
            yield from _traces(row, observations)
        elif rows := _listed(row.value):
            yield from (SpooledRow(row.record, f"{_trace_of(one)} {word(one, 'id')}", one) for one in rows)
        else:
            yield Skipped(row.record, _NEITHER)


def _traces(row: Row, observations: list[JsonObject]) -> Iterator[Trace | Skipped]:
    inner = row.value.get("trace")
    trace = inner if isinstance(inner, dict) else row.value
    first = observations[0]
    session = _session_of(trace) or _session_of(first)
    id_ = ExternalId(SESSION, session) if session else ExternalId(TRACE, _trace_of(first) or text_of(trace, "id"))
    return session_traces(_spans(observations), id_, row.record)


def _spans(rows: Iterable[JsonObject]) -> Iterator[TracedSpan]:
    known = KnownMessages()
    return (read_observation(row, known) for row in rows)


def _observations(row: JsonObject) -> list[JsonObject] | None:
    """The observations of a row that is a trace; None for any other row."""
    inner = row.get("trace")
    for holder in (row, inner if isinstance(inner, dict) else {}):
        listed = holder.get("observations")
        if isinstance(listed, list) and (isinstance(inner, dict) or holder.keys() & {"timestamp", "projectId"}):
            found = [one for one in listed if isinstance(one, dict)]
            if found and any(map(_is_observation, found)):
                return found
    return None


def _listed(row: JsonObject) -> list[JsonObject]:
    """The observations of a row of a table or of a page; empty for any other row."""
    if _is_observation(row):
        return [row]
    listed = row.get("data", row.get("messages"))
    if not isinstance(listed, list):
        return []
    return [one for one in listed if isinstance(one, dict) and _is_observation(one)]


def _is_observation(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    kind = row.get("type")
    return (
        isinstance(kind, str)
        and kind in KINDS
        and bool(word(row, "traceId") and word(row, "id"))
        and bool(member(row, "startTime"))
    )


def _trace_of(row: JsonObject) -> str:
    return word(row, "traceId")


def _session_of(row: JsonObject) -> str:
    """The session that a trace or an observation names; a session has one trace per user message."""
    return word(row, "sessionId") or word(row, "traceSessionId")


def member(row: JsonObject, name: str) -> Json:
    """A column by its name in camelCase, or the same name in snake_case."""
    found = row.get(name)
    return row.get(_snake_case(name)) if found is None else found


def word(row: JsonObject, name: str) -> str:
    """A column that is a text, else `""`."""
    found = member(row, name)
    return found if isinstance(found, str) else ""


def read_observation(row: JsonObject, known: KnownMessages) -> TracedSpan:
    """An observation as a span; `known` are the messages of its session. Never raises."""
    attributes = _attributes(row)
    kind = _kind(row, attributes)
    span = TracedSpan(
        word(row, "id"),
        word(row, "parentObservationId"),
        kind,
        text_of(attributes, "gen_ai.agent.name") or _name(word(row, "name")),
        utc_instant(member(row, "startTime")),
        utc_instant(member(row, "endTime")),
        span_trace=word(row, "traceId"),
    )
    if kind is OperationKind.MODEL:
        call = _model_call(row, attributes, known)
        return replace(span, call=call, warnings=(NOT_STORED, *([REWRITTEN] if call.is_rewritten else [])))
    return replace(span, run=_tool_run(row, attributes)) if kind is OperationKind.TOOL else span


def _snake_case(name: str) -> str:
    return _UPPER.sub(lambda found: f"_{found[0].lower()}", name)


def _attributes(row: JsonObject) -> JsonObject:
    """The observation's OpenTelemetry attributes, and the rest of its metadata."""
    metadata, _ = framework_calls.unwrapped_json(row.get("metadata"))
    if not isinstance(metadata, dict):
        return {}
    inner, _ = framework_calls.unwrapped_json(metadata.get("attributes"))
    return {**metadata, **inner} if isinstance(inner, dict) else metadata


def _kind(row: JsonObject, attributes: JsonObject) -> OperationKind:
    named, words = word(row, "type"), {text_of(attributes, key) for key in _OPERATIONS}
    if named == "TOOL" or (named in ("SPAN", "CHAIN", "") and (words & _TOOL_WORDS or _is_tool_message(row))):
        return OperationKind.TOOL
    if named == "AGENT" or (named in ("SPAN", "CHAIN") and words & _AGENT_WORDS):
        return OperationKind.AGENT
    if named == "GENERATION":
        return OperationKind.OTHER if words & _OTHER_WORDS else OperationKind.MODEL
    return OperationKind.MODEL if named in ("SPAN", "") and words & _MODEL_WORDS else OperationKind.OTHER


def _is_tool_message(row: JsonObject) -> bool:
    output = row.get("output")
    if isinstance(output, dict):
        return ("tool_call_id" in output or "kwargs" in output) and framework_calls.read_tool_output(
            output
        ).call_id != ""
    return (
        isinstance(output, str) and "tool_call_id" in output and framework_calls.read_tool_output(output).call_id != ""
    )


def _name(name: str) -> str:
    """A span's name; only the agent's name if ADK put the span's kind before it (`agent_run [hotels]`)."""
    match = _AGENT.fullmatch(name)
    return match["name"] if match else name


def _model_call(row: JsonObject, attributes: JsonObject, known: KnownMessages) -> ModelCall:
    request = _request(row, attributes, known)
    answer = (
        framework_calls.missing_answer()
        if row.get("output") in (None, "")
        else framework_calls.read_answer_output(row.get("output"))
    )
    turn = replace(answer.turn, generation=_generation(row, attributes, answer))
    response_id = answer.response_id or text_of(attributes, "gen_ai.response.id", "ai.response.id")
    return ModelCall(request, turn, response_id, answer.is_rewritten)


def _request(row: JsonObject, attributes: JsonObject, known: KnownMessages) -> DecodedRequest:
    request = framework_calls.read_request_input(row.get("input"), known)
    settings, _ = framework_calls.unwrapped_json(member(row, "modelParameters"))
    kept: JsonObject = dict(settings) if isinstance(settings, dict) else {}
    tools = request.tools or _tools(row, attributes, kept)
    kept = {key: value for key, value in kept.items() if value not in (None, "") and key not in ("tools", "system")}
    instructions, _ = framework_calls.unwrapped_json(attributes.get("gen_ai.system_instructions"))
    if instructions and all(turn.role is not Role.SYSTEM for turn in request.turns):
        system = read_any_message({"role": "system", "content": instructions})
        request = replace(request, turns=(*system.turns, *request.turns))
    previous = text_of(attributes, "gen_ai.conversation.id", "previous_response_id")
    return replace(
        request,
        model=request.model or text_of(attributes, "gen_ai.request.model", "ai.model.id", "llm.model_name"),
        tools=tools,
        parameters=request.parameters or (compact_json(kept) if kept else ""),
        continues=previous if previous.startswith("resp_") else "",
    )


def _tools(row: JsonObject, attributes: JsonObject, settings: JsonObject) -> tuple[ToolDefinition, ...]:
    offered = [attributes.get(key) for key in _TOOL_LISTS]
    candidates = (*offered, settings.get("tools"), member(row, "toolDefinitions"))
    return next((found for candidate in candidates if (found := framework_calls.read_tool_list(candidate))), ())


def _generation(row: JsonObject, attributes: JsonObject, answer: framework_calls.FrameworkAnswer) -> Generation:
    known = answer.turn.generation or Generation()
    usage, _ = framework_calls.unwrapped_json(member(row, "usageDetails") or row.get("usage"))
    finish = known.finish_reason or _finish(attributes)
    error = _error(row)
    failed = FinishReason.ERROR if error else None
    return replace(
        known,
        requested_model=text_of(attributes, "gen_ai.request.model", "ai.model.id"),
        answered_model=known.answered_model
        or text_of(attributes, "gen_ai.response.model", "ai.response.model")
        or word(row, "model")
        or word(row, "providedModelName"),
        started=utc_instant(member(row, "startTime")),
        first_token=utc_instant(member(row, "completionStartTime")),
        ended=utc_instant(member(row, "endTime")),
        usage=framework_calls.usage_of(usage) if known.usage == Usage() else known.usage,
        finish_reason=finish or None,
        finish=failed or (finish_meaning(finish) if finish else None),
        error=error,
        body=BodyState.COMPLETE if error else known.body,
    )


def _finish(attributes: JsonObject) -> str:
    reasons, _ = framework_calls.unwrapped_json(attributes.get("gen_ai.response.finish_reasons"))
    if isinstance(reasons, list) and reasons and isinstance(reasons[0], str):
        return reasons[0].replace("-", "_")
    return text_of(attributes, "ai.response.finishReason").replace("-", "_")


def _error(row: JsonObject) -> GenerationError | None:
    return framework_calls.failure(word(row, "statusMessage")) if word(row, "level") == "ERROR" else None


def _tool_run(row: JsonObject, attributes: JsonObject) -> ToolRun:
    output = framework_calls.read_tool_output(row.get("output"))
    name = text_of(attributes, "gen_ai.tool.name", "tool.name", "ai.toolCall.name") or word(row, "name")
    value, text = framework_calls.unwrapped_json(row.get("input"))
    arguments = text if text is not None else value if isinstance(value, str) else compact_json(value)
    failed = True if word(row, "level") == "ERROR" else output.failed
    result = output.text
    if result is None and failed:
        result = word(row, "statusMessage") or None
    return ToolRun(
        name.removeprefix(_PREFIX),
        text_of(attributes, "gen_ai.tool.call.id", "ai.toolCall.id") or output.call_id,
        arguments,
        result,
        failed,
    )


LANGFUSE = LogSource(
    name="langfuse",
    signs="observations with a `traceId`, or a trace that contains them",
    is_row=lambda row: _observations(row) is not None or _listed(row),
    confidence=0.9,
    reader=lambda file: spooled_traces(_entries(file), _trace_of, _session_of, _spans),
)
"""The traces of each session, one for each conversation in its generations; those of a table's rows come last."""
