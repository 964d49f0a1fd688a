"""Runs of LangSmith as spans: what a model was asked and answered, what a tool was given and gave.

Source: langchain-ai/langsmith-sdk:python/langsmith/schemas.py, and LangSmith's documentation of the run format.
"""

from dataclasses import replace

from inspector.importers.framework_answers import FrameworkAnswer, failure, nothing_answered, read_answered, usage_of
from inspector.importers.framework_messages import KnownMessages
from inspector.importers.framework_requests import read_asked, read_offered
from inspector.importers.framework_results import read_given
from inspector.importers.identity import text_of
from inspector.importers.source import JsonObject
from inspector.importers.span_sessions import utc_instant
from inspector.importers.spans import ModelCall, OperationKind, ToolRun, TracedSpan
from inspector.model import (
    BodyState,
    Chunks,
    FinishReason,
    Generation,
    GenerationError,
    Instant,
    Json,
    Part,
    Turn,
    Usage,
)
from inspector.wire.json_text import compact_json
from inspector.wire.request import DecodedRequest

NOT_STORED = "the source keeps whole answers: no raw stream, and times of pieces only where a framework told them"
REWRITTEN = "the source keeps the arguments of some calls parsed, whose text was written anew"
SESSION_KEYS = ("session_id", "thread_id", "conversation_id")
"""The members of a run's metadata that name its conversation: a run's own `session_id` is its project."""

_KINDS = {"llm": OperationKind.MODEL, "tool": OperationKind.TOOL}
_NO_SETTINGS = frozenset({"model", "model_name", "tools", "functions", "_type", "messages", "stop"})


def read_run(run: JsonObject, known: KnownMessages) -> TracedSpan:
    """A run as a span; `known` are the messages of its session. Never raises."""
    kind = _KINDS.get(text_of(run, "run_type"), OperationKind.OTHER)
    span = TracedSpan(
        text_of(run, "id"),
        text_of(run, "parent_run_id"),
        kind,
        text_of(run, "name"),
        utc_instant(run.get("start_time")),
        utc_instant(run.get("end_time")),
        span_trace=trace_of(run),
    )
    if kind is OperationKind.MODEL:
        call = _model_call(run, known)
        return replace(span, call=call, warnings=(NOT_STORED, *([REWRITTEN] if call.is_rewritten else [])))
    return replace(span, run=_tool_run(run)) if kind is OperationKind.TOOL else span


def trace_of(run: JsonObject) -> str:
    """The id of the trace that a run is part of, `""` where it does not tell."""
    _, _, first = text_of(run, "dotted_order").partition(".")[0].rpartition("Z")
    return text_of(run, "trace_id") or first


def session_of(run: JsonObject) -> str:
    """The conversation that a run names, `""` where it names none."""
    return text_of(_metadata(run), *SESSION_KEYS)


def _metadata(run: JsonObject) -> JsonObject:
    return _object(_object(run.get("extra")).get("metadata"))


def _model_call(run: JsonObject, known: KnownMessages) -> ModelCall:
    outputs = run.get("outputs")
    answer = read_answered(outputs) if outputs else nothing_answered()
    turn = _with_chunks(answer.turn, run)
    return ModelCall(
        _request(run, known),
        replace(turn, generation=_generation(run, answer)),
        answer.response_id,
        answer.is_rewritten,
    )


def _request(run: JsonObject, known: KnownMessages) -> DecodedRequest:
    asked = read_asked(run.get("inputs"), known)
    invoked = _object(_object(run.get("extra")).get("invocation_params"))
    settings: JsonObject = {key: value for key, value in invoked.items() if key not in _NO_SETTINGS}
    return replace(
        asked,
        model=asked.model or text_of(invoked, "model", "model_name") or text_of(_metadata(run), "ls_model_name"),
        tools=asked.tools or read_offered(invoked.get("tools")) or read_offered(invoked.get("functions")),
        parameters=asked.parameters or (compact_json(settings) if settings else ""),
    )


def _generation(run: JsonObject, answer: FrameworkAnswer) -> Generation:
    known = answer.turn.generation or Generation()
    usage = usage_of(_object(run.get("outputs")).get("usage_metadata"))
    usage = usage_of(run) if usage == Usage() else usage
    error = _error(run)
    return replace(
        known,
        started=utc_instant(run.get("start_time")),
        first_token=utc_instant(run.get("first_token_time")) or next(iter(_tokens(run)), (None, ""))[0],
        ended=utc_instant(run.get("end_time")),
        usage=usage if known.usage == Usage() else known.usage,
        finish=FinishReason.ERROR if error else known.finish,
        error=error,
        body=BodyState.COMPLETE if error and not run.get("outputs") else known.body,
    )


def _error(run: JsonObject) -> GenerationError | None:
    words = text_of(run, "error")
    return failure(words) if words or run.get("status") == "error" else None


def _tokens(run: JsonObject) -> list[tuple[Instant | None, str]]:
    """The pieces of the stream that a framework told of, with their times."""
    events = run.get("events")
    found: list[tuple[Instant | None, str]] = []
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("name") == "new_token":
            token = _object(event.get("kwargs")).get("token")
            found.append((utc_instant(event.get("time")), token if isinstance(token, str) else ""))
    return found


def _with_chunks(turn: Turn, run: JsonObject) -> Turn:
    """The turn with the chunks of its text, where the pieces that were told make it up and nothing else was said."""
    text, tokens = turn.part("text"), [one for one in _tokens(run) if one[1]]
    if text is None or not text.text or "".join(token for _, token in tokens) != text.text or len(turn.parts) > 1:
        return turn
    started = utc_instant(run.get("start_time"))
    ends: list[int] = []
    for _, token in tokens:
        ends.append(len(token) + (ends[-1] if ends else 0))
    offsets = tuple(at.at_s - started.at_s if at is not None and started is not None else None for at, _ in tokens)
    chunks = Chunks(tuple(ends), tuple(range(len(ends))), offsets)
    return replace(turn, parts=(Part("text", text.text, chunks),))


def _tool_run(run: JsonObject) -> ToolRun:
    given = read_given(run.get("outputs"))
    failed = True if run.get("error") or run.get("status") == "error" else given.failed
    words = given.text if given.text is not None else text_of(run, "error") or None
    return ToolRun(
        text_of(run, "name"),
        given.call_id or text_of(_metadata(run), "tool_call_id"),
        _arguments(run.get("inputs")),
        words,
        failed,
    )


def _arguments(inputs: Json) -> str:
    """A tool's arguments; LangChain puts those of a tool that it traces into one text, as Python shows them."""
    given = _object(inputs)
    alone = given.get("input")
    if given.keys() == {"input"}:
        return alone if isinstance(alone, str) else compact_json(alone)
    return compact_json(inputs)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
