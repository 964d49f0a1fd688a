"""Langfuse: traces with their observations, as the UI and the API return them, and tables of observations.

A trace is an object with a list `observations`, or `{"trace": {...}, "observations": [...]}`. A table has one
observation per row, or pages of them (`{"data": [...]}`). Columns are named in camelCase (the UI, the API) or
snake_case (exports to blob storage).
"""

from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.telemetry.framework_calls import read_tool_output, unwrapped_json
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages, read_any_message
from weaklink.inspector.importers.telemetry.span_spool import TRACE
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, TracedSpan
from weaklink.inspector.importers.telemetry.tracing_stores import (
    SESSION,
    SpooledRow,
    StoredSpan,
    session_traces,
    spooled_traces,
    utc_instant,
)
from weaklink.inspector.json_text import object_of, objects_of, word_of
from weaklink.inspector.model import ExternalId, Json, Role, Trace
from weaklink.inspector.scanning import lazy_pattern

_NEITHER = "this is neither a trace nor an observation of Langfuse"
NOT_STORED = "the source stores whole answers: no stream, no chunks, and only the time of the first chunk"

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
    trace = object_of(row.value.get("trace")) or row.value
    first = observations[0]
    session = _session_of(trace) or _session_of(first)
    id_ = ExternalId(SESSION, session) if session else ExternalId(TRACE, _trace_of(first) or text_of(trace, "id"))
    known = KnownMessages()
    return session_traces((read_observation(observation, known) for observation in observations), id_, row.record)


def _observations(row: JsonObject) -> list[JsonObject] | None:
    """The observations of a row that is a trace; None for any other row."""
    inner = row.get("trace")
    for holder in (row, object_of(inner)):
        found = objects_of(holder.get("observations"))
        is_trace = isinstance(inner, dict) or holder.keys() & {"timestamp", "projectId"}
        if is_trace and any(map(_is_observation, found)):
            return found
    return None


def _listed(row: JsonObject) -> list[JsonObject]:
    """The observations of a row of a table or of a page; empty for any other row."""
    if _is_observation(row):
        return [row]
    return list(filter(_is_observation, objects_of(row.get("data", row.get("messages")))))


def _is_observation(row: JsonObject) -> bool:
    is_named = text_of(row, "type") in KINDS and word(row, "traceId") and word(row, "id")
    return bool(is_named and member(row, "startTime"))


def _trace_of(row: JsonObject) -> str:
    return word(row, "traceId")


def _session_of(row: JsonObject) -> str:
    """The session that a trace or an observation names; a session has one trace per user message."""
    return word(row, "sessionId") or word(row, "traceSessionId")


def member(row: JsonObject, name: str) -> Json:
    """A column by its name in camelCase, or the same name in snake_case."""
    found = row.get(name)
    return row.get(_UPPER.sub(lambda upper: f"_{upper[0].lower()}", name)) if found is None else found


def word(row: JsonObject, name: str) -> str:
    """A column that is a text, else `""`."""
    return word_of(member(row, name))


def read_observation(row: JsonObject, known: KnownMessages) -> TracedSpan:
    """An observation as a span; `known` are the messages of its session. Never raises."""
    attributes = _attributes(row)
    kind = _kind(row, attributes)
    name = text_of(attributes, "gen_ai.agent.name") or _name(word(row, "name"))
    if kind is OperationKind.TOOL:
        name = text_of(attributes, "gen_ai.tool.name", "tool.name", "ai.toolCall.name") or word(row, "name")
    settings = object_of(unwrapped_json(member(row, "modelParameters"))[0])
    read = StoredSpan(
        span=TracedSpan(
            word(row, "id"),
            word(row, "parentObservationId"),
            kind,
            name.removeprefix(_PREFIX) if kind is OperationKind.TOOL else name,
            utc_instant(member(row, "startTime")),
            utc_instant(member(row, "endTime")),
            span_trace=word(row, "traceId"),
        ),
        input=row.get("input"),
        output=row.get("output"),
        error=word(row, "statusMessage") if word(row, "level") == "ERROR" else None,
        requested_model=text_of(attributes, "gen_ai.request.model", "ai.model.id", "llm.model_name"),
        answered_model=text_of(attributes, "gen_ai.response.model", "ai.response.model")
        or word(row, "model")
        or word(row, "providedModelName"),
        settings={
            key: one for key, one in settings.items() if one not in (None, "") and key not in ("tools", "system")
        },
        tools=(*map(attributes.get, _TOOL_LISTS), settings.get("tools"), member(row, "toolDefinitions")),
        usages=(unwrapped_json(member(row, "usageDetails") or row.get("usage"))[0],),
        finish=_finish(attributes),
        first_token=utc_instant(member(row, "completionStartTime")),
        response_id=text_of(attributes, "gen_ai.response.id", "ai.response.id"),
        call_id=text_of(attributes, "gen_ai.tool.call.id", "ai.toolCall.id"),
        not_stored=NOT_STORED,
    ).read(known)
    return read if read.call is None else replace(read, call=_with_context(read.call, attributes))


def _attributes(row: JsonObject) -> JsonObject:
    """The observation's OpenTelemetry attributes, and the rest of its metadata."""
    metadata, _ = unwrapped_json(row.get("metadata"))
    if not isinstance(metadata, dict):
        return {}
    inner, _ = unwrapped_json(metadata.get("attributes"))
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
    may_be = isinstance(output, dict | str) and ("tool_call_id" in output or "kwargs" in output)
    return may_be and read_tool_output(output).call_id != ""


def _name(name: str) -> str:
    """A span's name; only the agent's name if ADK put the span's kind before it (`agent_run [hotels]`)."""
    match = _AGENT.fullmatch(name)
    return match["name"] if match else name


def _with_context(call: ModelCall, attributes: JsonObject) -> ModelCall:
    """The call with the system prompt and the earlier answer that only attributes name."""
    turns = call.request.turns
    instructions, _ = unwrapped_json(attributes.get("gen_ai.system_instructions"))
    if instructions and all(turn.role is not Role.SYSTEM for turn in turns):
        turns = (*read_any_message({"role": "system", "content": instructions}).turns, *turns)
    previous = text_of(attributes, "gen_ai.conversation.id", "previous_response_id")
    continues = previous if previous.startswith("resp_") else ""
    return replace(call, request=replace(call.request, turns=turns, continues=continues))


def _finish(attributes: JsonObject) -> str:
    reasons, _ = unwrapped_json(attributes.get("gen_ai.response.finish_reasons"))
    if isinstance(reasons, list) and reasons and isinstance(reasons[0], str):
        return reasons[0].replace("-", "_")
    return text_of(attributes, "ai.response.finishReason").replace("-", "_")


LANGFUSE = LogSource(
    name="langfuse",
    signs="observations with a `traceId`, or a trace that contains them",
    is_row=lambda row: _observations(row) is not None or _listed(row),
    confidence=0.9,
    reader=lambda file: spooled_traces(_entries(file), _trace_of, _session_of, read_observation),
)
"""The traces of each session, one for each conversation in its generations; those of a table's rows come last."""
