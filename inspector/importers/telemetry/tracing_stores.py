"""What the stores of traces share: rows about spans, and spans with an input and an output in any shape.

    {"id": "o1", "traceId": "t", "type": "GENERATION", "input": [...], ...}    a row, anywhere in a file (`span_rows`)
    StoredSpan(span=TracedSpan("o1", ...), input=[...], output=...)            what the store's map makes of it
    TracedSpan(call=ModelCall(request, answer))                                what it reads as (`StoredSpan.read`)

A store's map is one function from a row to a `StoredSpan`; which member is which of its fields is all that it says.
`spooled_traces` makes the traces of each session of these spans.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, structs

from weaklink.inspector import model
from weaklink.inspector.importers.identity import instant
from weaklink.inspector.importers.records import read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.telemetry.framework_calls import (
    failure,
    missing_answer,
    read_answer_output,
    read_request_input,
    read_tool_list,
    read_tool_output,
    unwrapped_json,
    usage_of,
)
from weaklink.inspector.importers.telemetry.framework_messages import KnownMessages, without_flattened
from weaklink.inspector.importers.telemetry.span_spool import SpanSpool
from weaklink.inspector.importers.telemetry.span_traces import traces_of_spans
from weaklink.inspector.importers.telemetry.spans import (
    ModelCall,
    OperationKind,
    ToolRun,
    TracedSpan,
)
from weaklink.inspector.json_text import compact_json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.answer_reader import finish_meaning

_ZONE = lazy_pattern(r"(?:Z|[+-]\d\d:?\d\d)\Z")
SESSION = "session_id"
"""The name of the id of a session that a store names."""

REWRITTEN = "the source stores the arguments of some calls parsed; their original text is lost"
"""The warning of an answer of which that is true."""


def utc_instant(value: model.Json) -> model.Instant | None:
    """A time as stores write it. Without a zone it is UTC, as their documentation states, and not marked as derived."""
    return instant(f"{value}Z" if isinstance(value, str) and not _ZONE.search(value) else value)


class StoredSpan(Struct, frozen=True, kw_only=True):
    """A span as a tracing store keeps it: `input` and `output` in any shape, and facts beside them.

    `error` are the words of a failure, None if there was none. Facts in `input` and `output` have priority: a model or
    tools of the store's own count where those have none. Of `tools` and `usages` the first that can be read counts.
    `not_stored` is what the store keeps of no answer.
    """

    span: TracedSpan
    input: model.Json = None
    output: model.Json = None
    error: str | None = None
    requested_model: str = ""
    answered_model: str = ""
    settings: JsonObject = {}
    tools: Iterable[model.Json] = ()
    usages: Iterable[model.Json] = ()
    finish: str = ""
    first_token: model.Instant | None = None
    response_id: str = ""
    call_id: str = ""
    not_stored: str = ""

    def read(self, known: KnownMessages) -> TracedSpan:
        """The span with its request and answer, or its run of a tool; `known` are its session's messages."""
        if self.span.kind is OperationKind.MODEL:
            call = self.call(known)
            warnings = (self.not_stored, REWRITTEN) if call.is_rewritten else (self.not_stored,)
            return structs.replace(self.span, call=call, warnings=warnings)
        return structs.replace(self.span, run=self._run()) if self.span.kind is OperationKind.TOOL else self.span

    def call(self, known: KnownMessages) -> ModelCall:
        """The request in `input` and the answer in `output`."""
        answer = missing_answer() if self.output in (None, "") else read_answer_output(self.output)
        request = read_request_input(self.input, known)
        request = structs.replace(
            request,
            turns=(*request.turns, *answer.steps),
            model=request.model or self.requested_model,
            tools=request.tools or next(filter(None, map(read_tool_list, self.tools)), ()),
            parameters=request.parameters or (compact_json(self.settings) if self.settings else ""),
        )
        turn = structs.replace(answer.turn, generation=self._generation(answer.turn.generation or model.Generation()))
        response_id = answer.response_id or self.response_id
        return ModelCall(request, turn, response_id, answer.is_rewritten, results=answer.results)

    def _generation(self, known: model.Generation) -> model.Generation:
        error = None if self.error is None else failure(self.error)
        finish = known.finish or (finish_meaning(self.finish) if self.finish else None)
        usages = (known.usage, *map(usage_of, self.usages))
        return structs.replace(
            known,
            answered_model=known.answered_model or self.answered_model,
            started=self.span.started,
            first_token=self.first_token,
            ended=self.span.ended,
            usage=next((usage for usage in usages if usage != model.Usage()), model.Usage()),
            finish_reason=known.finish_reason or self.finish or None,
            finish=model.FinishReason.ERROR if error else finish,
            error=error or known.error,
            body=model.BodyState.COMPLETE if error else known.body,
        )

    def _run(self) -> ToolRun:
        output = read_tool_output(self.output)
        value, text = unwrapped_json(self.input)
        arguments = text if text is not None else value if isinstance(value, str) else compact_json(value)
        failed = output.failed if self.error is None else True
        return ToolRun(
            self.span.name,
            self.call_id or output.call_id,
            arguments,
            (self.error or None) if output.text is None else output.text,
            failed,
        )


class SpooledRow(Struct, frozen=True):
    """A row about the span with a key, at the position `record`; several rows may have the same key."""

    record: str
    span: str
    value: JsonObject


def span_rows(
    file: SourceFile,
    spans: Callable[[JsonObject], Iterable[JsonObject]],
    key: Callable[[JsonObject], str],
    refusal: str,
) -> Iterator[SpooledRow | Skipped]:
    """The `spans` in each row of a file by their keys; a row without any is a Skipped with the reason `refusal`."""
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
            continue
        listed = list(spans(row.value))
        yield from (SpooledRow(row.record, key(span), span) for span in listed)
        if not listed:
            yield Skipped(row.record, refusal)


def spooled_traces(
    rows: Iterable[SpooledRow | model.Trace | Skipped],
    trace_of: Callable[[JsonObject], str],
    session_of: Callable[[JsonObject], str],
    read: Callable[[JsonObject, KnownMessages], TracedSpan],
) -> Iterator[model.Trace | Skipped]:
    """The traces of all sessions in these rows, after the last row; a row that is a trace or a Skipped comes at once.

    `trace_of` and `session_of` return the ids of the trace and of the session that a row names, `""` if it names none.
    `read` reads a span from its row, given the messages of its session that were read before: of a member that several
    rows of a span have, the last one that is not null counts.
    """
    with SpanSpool[JsonObject](dict) as spool:
        for row in rows:
            if not isinstance(row, SpooledRow):
                yield row
                continue
            named = session_of(row.value)
            session = model.ExternalId(SESSION, named) if named else None
            try:
                spool.put(row.span, row.value, trace=trace_of(row.value), session=session)
            except RecursionError:
                yield Skipped(row.record, "the row is nested too deeply")
        for session_id, keys in spool.sessions().items():
            known = KnownMessages()
            yield from session_traces((read(merged_rows(spool.rows([key])), known) for key in keys), session_id)


def merged_rows(rows: Iterable[JsonObject]) -> JsonObject:
    """The rows of one span as one; the last value of a member that is not null counts."""
    merged: JsonObject = {}
    for row in rows:
        merged.update((key, value) for key, value in row.items() if value is not None or key not in merged)
    return merged


def session_traces(
    spans: Iterable[TracedSpan], session_id: model.ExternalId, record: str = ""
) -> Iterator[model.Trace | Skipped]:
    """The traces of the session with this id; a Skipped if it contains no request to a model.

    `record` is the position of the session in the file, `""` if its rows may be anywhere.
    """
    how = model.RecognisedBy.FIELD if session_id.name == SESSION else model.RecognisedBy.RECORD
    found = False
    for trace in traces_of_spans(without_flattened(spans), (session_id,), recognised_by=how):
        found = True
        position = f"{record}, {trace.provenance.record}" if record else trace.provenance.record
        yield structs.replace(trace, provenance=structs.replace(trace.provenance, record=position))
    if not found:
        position = record or f"{session_id.name} {session_id.value}"
        yield Skipped(
            position, "its spans contain neither a request to a model nor the run of a tool", is_irrelevant=True
        )
