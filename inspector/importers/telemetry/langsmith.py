"""LangSmith: exports of runs, and the bodies of its ingestion API, multipart or as JSON.

A file contains one run per row or entry, runs that contain their children (`child_runs`), pages of them (`{"runs":
[...]}`), or the bodies that an SDK sends: `{"post": [...], "patch": [...]}` and multipart. Source:
langchain-ai/langsmith-sdk:python/langsmith.
"""

from collections.abc import Iterator
from itertools import accumulate

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.importers.identity import text_at, text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.telemetry.framework_calls import read_tool_output
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.langsmith_multipart import is_multipart, read_parts
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, TracedSpan
from weaklink.inspector.importers.telemetry.tracing_stores import (
    SpooledRow,
    StoredSpan,
    span_rows,
    spooled_traces,
    utc_instant,
)
from weaklink.inspector.json_text import member_at, object_of, objects_of

_TRACE = ("trace_id", "dotted_order")
_LISTS = ("runs", "post", "patch", "messages")
NOT_STORED = "the source stores whole answers: no raw stream, and chunk times only if a framework reported them"
SESSION_KEYS = ("session_id", "thread_id", "conversation_id")
"""The members of a run's metadata that name its conversation: a run's own `session_id` is its project."""

_KINDS = {"llm": OperationKind.MODEL, "tool": OperationKind.TOOL}
_NO_SETTINGS = frozenset({"model", "model_name", "tools", "functions", "_type", "messages", "stop"})


def _entries(file: SourceFile) -> Iterator[SpooledRow | Skipped]:
    """The members of a run that each record contains."""
    if not is_multipart(file.head):
        return span_rows(file, _runs, _id, "this is neither a LangSmith run nor a page of runs")
    parts = read_parts(file)
    return (
        part if isinstance(part, Skipped) else SpooledRow(part.record, _id(part.members), part.members)
        for part in parts
    )


def _id(run: JsonObject) -> str:
    return text_of(run, "id")


def _runs(row: JsonObject) -> list[JsonObject]:
    """The runs of a row and their descendants, parents first; empty if it has none."""
    listed = [row] if _is_run(row) else []
    if not listed:
        listed = [entry for key in _LISTS for entry in objects_of(row.get(key)) if _may_be_run(entry, key)]
    found: list[JsonObject] = []
    pending = listed[::-1]
    while pending:
        run = pending.pop()
        found.append({key: value for key, value in run.items() if key != "child_runs"})
        pending += filter(_is_run, reversed(objects_of(run.get("child_runs"))))
    return found


def _may_be_run(value: JsonObject, key: str) -> bool:
    """Whether it is a run, or a later update of one."""
    return _is_run(value) or (key == "patch" and bool(text_of(value, "id") and text_of(value, *_TRACE)))


def _is_run(value: JsonObject) -> bool:
    return bool(text_of(value, "run_type") and text_of(value, "id") and text_of(value, *_TRACE))


def read_run(run: JsonObject, known: KnownMessages) -> TracedSpan:
    """A run as a span; `known` are the messages of its session. Never raises."""
    extra, inputs, outputs = object_of(run.get("extra")), run.get("inputs"), run.get("outputs")
    invoked, metadata = object_of(extra.get("invocation_params")), object_of(extra.get("metadata"))
    kind = _KINDS.get(text_of(run, "run_type"), OperationKind.OTHER)
    if kind is OperationKind.TOOL and isinstance(inputs, dict) and inputs.keys() == {"input"}:
        inputs = inputs["input"]  # LangChain puts a traced tool's arguments into one text, in Python's notation
    tokens = _tokens(run)
    call_id = text_of(metadata, "tool_call_id")
    if call_id and read_tool_output(outputs).call_id:
        call_id = ""  # the tool's own message names its call
    read = StoredSpan(
        span=TracedSpan(
            text_of(run, "id"),
            text_of(run, "parent_run_id"),
            kind,
            text_of(run, "name"),
            utc_instant(run.get("start_time")),
            utc_instant(run.get("end_time")),
            span_trace=trace_of(run),
        ),
        input=inputs,
        output=outputs,
        error=text_of(run, "error") if run.get("error") or run.get("status") == "error" else None,
        requested_model=text_of(invoked, "model", "model_name") or text_of(metadata, "ls_model_name"),
        settings={key: value for key, value in invoked.items() if key not in _NO_SETTINGS},
        tools=(invoked.get("tools"), invoked.get("functions")),
        usages=(object_of(outputs).get("usage_metadata"), run),
        first_token=utc_instant(run.get("first_token_time")) or next((at for at, _ in tokens), None),
        call_id=call_id,
        not_stored=NOT_STORED,
    ).read(known)
    return read if read.call is None else structs.replace(read, call=_with_chunks(read.call, tokens, read.started))


def trace_of(run: JsonObject) -> str:
    """The id of the trace that a run is part of, `""` if it names none."""
    _, _, first = text_of(run, "dotted_order").partition(".")[0].rpartition("Z")
    return text_of(run, "trace_id") or first


def session_of(run: JsonObject) -> str:
    """The conversation that a run names, `""` if it names none."""
    return text_of(object_of(member_at(run, "extra.metadata")), *SESSION_KEYS)


def _tokens(run: JsonObject) -> list[tuple[model.Instant | None, str]]:
    """The streamed pieces that a framework reported, with their times."""
    events = (event for event in objects_of(run.get("events")) if event.get("name") == "new_token")
    return [(utc_instant(event.get("time")), text_at(event, "kwargs.token")) for event in events]


def _with_chunks(
    call: ModelCall, tokens: list[tuple[model.Instant | None, str]], started: model.Instant | None
) -> ModelCall:
    """The call with the chunks of its answer, if the reported pieces add up to it and it has no other parts."""
    text, tokens = call.answer.part("text"), [token for token in tokens if token[1]]
    if (
        text is None
        or not text.text
        or "".join(token for _, token in tokens) != text.text
        or len(call.answer.parts) > 1
    ):
        return call
    ends = tuple(accumulate(len(token) for _, token in tokens))
    offsets = tuple(at.at_s - started.at_s if at is not None and started is not None else None for at, _ in tokens)
    part = model.Part("text", text.text, model.Chunks(ends, tuple(range(len(ends))), offsets))
    return structs.replace(call, answer=structs.replace(call.answer, parts=(part,)))


def _score(sample: FileSample) -> float:
    """By the head of a multipart body, or by rows with a run's type and the id of its trace."""
    return 1.0 if is_multipart(sample.head) else 0.9 if any(map(_runs, sample.rows)) else 0.0


LANGSMITH = LogSource(
    name="langsmith",
    signs="runs with a `run_type`, or the parts of an ingestion request",
    score=_score,
    reader=lambda file: spooled_traces(_entries(file), trace_of, session_of, read_run),
)
"""The traces of each session in their order, one for each conversation in its runs of models."""
