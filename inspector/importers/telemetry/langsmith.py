"""LangSmith: exports of runs, and the bodies of its ingestion API, multipart or as JSON.

A file contains one run per row or entry, runs that contain their children (`child_runs`), pages of them (`{"runs":
[...]}`), or the bodies that an SDK sends: `{"post": [...], "patch": [...]}` and multipart. Source:
langchain-ai/langsmith-sdk:python/langsmith.
"""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from msgspec import Struct, structs

from weaklink.inspector import model
from weaklink.inspector.importers.compression import DamagedDataError
from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import parse_json_bytes, read_rows
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.telemetry import framework_calls
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages
from weaklink.inspector.importers.telemetry.span_traces import SpooledRow, spooled_traces, utc_instant
from weaklink.inspector.importers.telemetry.spans import ModelCall, OperationKind, ToolRun, TracedSpan
from weaklink.inspector.json_text import compact_json, object_of
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.events import DecodedRequest

_NEITHER = "this is neither a LangSmith run nor a page of runs"
_TRACE = ("trace_id", "dotted_order")
_LISTS = ("runs", "post", "patch", "messages")
_LINE = 1 << 20
_HEADERS = 32

_BEGINS = re.compile(
    rb"\s*--[^\r\n]{1,200}\r?\n(?:[^\r\n]+\r?\n){0,8}?content-disposition:[^\r\n]*name=\"?(?:post|patch)\.",
    re.IGNORECASE,
)

_NAME = re.compile(rb"content-disposition:.*?\bname=\"?(?P<name>[^\";\r\n]+)", re.IGNORECASE)
_RUN = lazy_pattern(r"(?P<operation>post|patch)\.(?P<id>[^.]+)(?:\.(?P<member>[a-z_]+))?")
NOT_STORED = "the source stores whole answers: no raw stream, and chunk times only if a framework reported them"
REWRITTEN = "the source stores the arguments of some calls parsed; their original text is lost"
SESSION_KEYS = ("session_id", "thread_id", "conversation_id")
"""The members of a run's metadata that name its conversation: a run's own `session_id` is its project."""

_KINDS = {"llm": OperationKind.MODEL, "tool": OperationKind.TOOL}
_NO_SETTINGS = frozenset({"model", "model_name", "tools", "functions", "_type", "messages", "stop"})


def _spans(runs: Iterable[JsonObject]) -> Iterator[TracedSpan]:
    known = KnownMessages()
    return (read_run(run, known) for run in runs)


def _entries(file: SourceFile) -> Iterator[SpooledRow | Skipped]:
    """The members of a run that each record contains."""
    if is_multipart(file.head):
        for part in read_parts(file):
            yield part if isinstance(part, Skipped) else _run_row(part.record, part.members)
        return
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
        elif runs := _runs(row.value):
            for run in runs:
                yield _run_row(row.record, run)
        else:
            yield Skipped(row.record, _NEITHER)


def _run_row(record: str, run: JsonObject) -> SpooledRow:
    return SpooledRow(record, text_of(run, "id"), run)


def _runs(row: JsonObject) -> list[JsonObject]:
    """The runs of a row and their descendants, parents first; empty if it has none."""
    listed = [row] if _is_run(row) else []
    if not listed:
        for key in _LISTS:
            members = row.get(key)
            entries: list[model.Json] = members if isinstance(members, list) else []
            listed += [entry for entry in entries if isinstance(entry, dict) and _may_be_run(entry, key)]
    found: list[JsonObject] = []
    pending = listed[::-1]
    while pending:
        run = pending.pop()
        children = run.get("child_runs")
        found.append({key: value for key, value in run.items() if key != "child_runs"})
        entries = children if isinstance(children, list) else []
        pending += [entry for entry in reversed(entries) if isinstance(entry, dict) and _is_run(entry)]
    return found


def _may_be_run(value: JsonObject, key: str) -> bool:
    """Whether it is a run, or a later update of one."""
    return _is_run(value) or (key == "patch" and bool(text_of(value, "id") and text_of(value, *_TRACE)))


def _is_run(value: JsonObject) -> bool:
    return bool(text_of(value, "run_type") and text_of(value, "id") and text_of(value, *_TRACE))


class RunPart(Struct, frozen=True):
    """The members of a run in one part of a multipart body."""

    record: str
    members: JsonObject


def is_multipart(head: bytes) -> bool:
    """Whether a file begins with a multipart body of LangSmith's ingestion API."""
    return _BEGINS.match(head) is not None


def read_parts(file: SourceFile, *, limit: int = RECORD_BYTES) -> Iterator[RunPart | Skipped]:
    """The members of a run in each part, in the file's order; one part of at most `limit` bytes is in memory at a time.

    Several bodies may follow each other. Parts that belong to no run (attachments, feedback) are silently ignored.
    """
    try:
        with file.open() as stream:
            for number, (name, raw) in enumerate(_parts(stream, limit), 1):
                found = _read(f"part {number}", name, raw, limit)
                if found is not None:
                    yield found
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def _read(record: str, name: str, raw: bytes | None, limit: int) -> RunPart | Skipped | None:
    match = _RUN.fullmatch(name)
    if match is None:
        return None
    if raw is None:
        return Skipped(record, too_long(limit))
    try:
        value = parse_json_bytes(raw)
    except ValueError as error:
        return Skipped(record, str(error))
    if match["member"]:
        return RunPart(record, {"id": match["id"], match["member"]: value})
    if not isinstance(value, dict):
        return Skipped(record, "the part is not an object")
    return RunPart(record, {**value, "id": match["id"]})


def _parts(stream: BinaryIO, limit: int) -> Iterator[tuple[str, bytes | None]]:
    """The name and the body of each part; None for a body beyond the bound."""
    boundary = b""
    line = stream.readline(_LINE)
    while line:
        if not (boundary and line.startswith(boundary)) and not line.startswith(b"--"):
            line = stream.readline(_LINE)
            continue
        boundary = boundary if boundary and line.startswith(boundary) else line.strip()
        if line.strip() == boundary + b"--":
            boundary, line = b"", stream.readline(_LINE)
            continue
        name = _name(stream)
        body, line = _body(stream, boundary, limit)
        yield name, body


def _name(stream: BinaryIO) -> str:
    """The name in the headers of a part; reads up to and including the empty line after them."""
    name = ""
    for _ in range(_HEADERS):
        line = stream.readline(_LINE)
        if not line.strip():
            break
        if match := _NAME.match(line):
            name = match["name"].decode("utf-8", "replace")
    return name


def _body(stream: BinaryIO, boundary: bytes, limit: int) -> tuple[bytes | None, bytes]:
    """A part's bytes up to the boundary, and the boundary's line; `b""` at the end of the file."""
    pieces: list[bytes] = []
    left, begins_line = limit, True
    while line := stream.readline(_LINE):
        if begins_line and line.startswith(boundary):
            break
        begins_line = line.endswith(b"\n")
        left -= len(line)
        if left >= 0:
            pieces.append(line)
        else:
            pieces.clear()
    return (b"".join(pieces).removesuffix(b"\n").removesuffix(b"\r") if left >= 0 else None), line


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
        return structs.replace(span, call=call, warnings=(NOT_STORED, *([REWRITTEN] if call.is_rewritten else [])))
    return structs.replace(span, run=_tool_run(run)) if kind is OperationKind.TOOL else span


def trace_of(run: JsonObject) -> str:
    """The id of the trace that a run is part of, `""` if it names none."""
    _, _, first = text_of(run, "dotted_order").partition(".")[0].rpartition("Z")
    return text_of(run, "trace_id") or first


def session_of(run: JsonObject) -> str:
    """The conversation that a run names, `""` if it names none."""
    return text_of(_metadata(run), *SESSION_KEYS)


def _metadata(run: JsonObject) -> JsonObject:
    return object_of(object_of(run.get("extra")).get("metadata"))


def _model_call(run: JsonObject, known: KnownMessages) -> ModelCall:
    outputs = run.get("outputs")
    answer = framework_calls.read_answer_output(outputs) if outputs else framework_calls.missing_answer()
    turn = _with_chunks(answer.turn, run)
    return ModelCall(
        _request(run, known),
        structs.replace(turn, generation=_generation(run, answer)),
        answer.response_id,
        answer.is_rewritten,
    )


def _request(run: JsonObject, known: KnownMessages) -> DecodedRequest:
    request = framework_calls.read_request_input(run.get("inputs"), known)
    invoked = object_of(object_of(run.get("extra")).get("invocation_params"))
    settings: JsonObject = {key: value for key, value in invoked.items() if key not in _NO_SETTINGS}
    return structs.replace(
        request,
        model=request.model or text_of(invoked, "model", "model_name") or text_of(_metadata(run), "ls_model_name"),
        tools=request.tools
        or framework_calls.read_tool_list(invoked.get("tools"))
        or framework_calls.read_tool_list(invoked.get("functions")),
        parameters=request.parameters or (compact_json(settings) if settings else ""),
    )


def _generation(run: JsonObject, answer: framework_calls.FrameworkAnswer) -> model.Generation:
    known = answer.turn.generation or model.Generation()
    usage = framework_calls.usage_of(object_of(run.get("outputs")).get("usage_metadata"))
    usage = framework_calls.usage_of(run) if usage == model.Usage() else usage
    error = _error(run)
    return structs.replace(
        known,
        started=utc_instant(run.get("start_time")),
        first_token=utc_instant(run.get("first_token_time")) or next(iter(_tokens(run)), (None, ""))[0],
        ended=utc_instant(run.get("end_time")),
        usage=usage if known.usage == model.Usage() else known.usage,
        finish=model.FinishReason.ERROR if error else known.finish,
        error=error,
        body=model.BodyState.COMPLETE if error and not run.get("outputs") else known.body,
    )


def _error(run: JsonObject) -> model.GenerationError | None:
    words = text_of(run, "error")
    return framework_calls.failure(words) if words or run.get("status") == "error" else None


def _tokens(run: JsonObject) -> list[tuple[model.Instant | None, str]]:
    """The streamed pieces that a framework reported, with their times."""
    events = run.get("events")
    found: list[tuple[model.Instant | None, str]] = []
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("name") == "new_token":
            token = object_of(event.get("kwargs")).get("token")
            found.append((utc_instant(event.get("time")), token if isinstance(token, str) else ""))
    return found


def _with_chunks(turn: model.Turn, run: JsonObject) -> model.Turn:
    """The turn with the chunks of its text, if the reported pieces add up to it and it has no other parts."""
    text, tokens = turn.part("text"), [token for token in _tokens(run) if token[1]]
    if text is None or not text.text or "".join(token for _, token in tokens) != text.text or len(turn.parts) > 1:
        return turn
    started = utc_instant(run.get("start_time"))
    ends: list[int] = []
    for _, token in tokens:
        ends.append(len(token) + (ends[-1] if ends else 0))
    offsets = tuple(at.at_s - started.at_s if at is not None and started is not None else None for at, _ in tokens)
    chunks = model.Chunks(tuple(ends), tuple(range(len(ends))), offsets)
    return structs.replace(turn, parts=(model.Part("text", text.text, chunks),))


def _tool_run(run: JsonObject) -> ToolRun:
    output = framework_calls.read_tool_output(run.get("outputs"))
    failed = True if run.get("error") or run.get("status") == "error" else output.failed
    result = output.text if output.text is not None else text_of(run, "error") or None
    return ToolRun(
        text_of(run, "name"),
        output.call_id or text_of(_metadata(run), "tool_call_id"),
        _arguments(run.get("inputs")),
        result,
        failed,
    )


def _arguments(inputs: model.Json) -> str:
    """A tool's arguments; LangChain puts those of a traced tool into one text, in Python's notation."""
    members = object_of(inputs)
    alone = members.get("input")
    if members.keys() == {"input"}:
        return alone if isinstance(alone, str) else compact_json(alone)
    return compact_json(inputs)


def _score(sample: FileSample) -> float:
    """By the head of a multipart body, or by rows with a run's type and the id of its trace."""
    return 1.0 if is_multipart(sample.head) else 0.9 if any(map(_runs, sample.rows)) else 0.0


LANGSMITH = LogSource(
    name="langsmith",
    signs="runs with a `run_type`, or the parts of an ingestion request",
    score=_score,
    reader=lambda file: spooled_traces(_entries(file), trace_of, session_of, _spans),
)
"""The traces of each session in their order, one for each conversation in its runs of models."""
