"""OpenTelemetry traces of agents: OTLP as JSON lines, JSON documents, or protobuf bodies.

Attributes are read by four conventions, each in a module of its own: `otlp_genai`, `otlp_openinference`,
`otlp_openllmetry` and `otlp_langfuse`.
"""

import re
from collections.abc import Iterable, Iterator

from inspector.importers.framework_messages import KnownMessages
from inspector.importers.otlp_json import has_resources, merged, spans_of
from inspector.importers.otlp_messages import Messages
from inspector.importers.otlp_protobuf import is_otlp, read_protobuf
from inspector.importers.otlp_reading import NO_CHUNKS, read_span
from inspector.importers.otlp_shelf import SpanShelf
from inspector.importers.otlp_span import OtlpSpan
from inspector.importers.rows import read_rows
from inspector.importers.source import Sample, Skipped, SourceFile
from inspector.importers.span_traces import traces_of_spans
from inspector.model import ExternalId, RecognisedBy, Trace

_RESOURCES = re.compile(r'\{\s*"resource_?(?:[Ss]pans|[Ll]ogs)"\s*:\s*\[')
_NO_SPANS = "the row is no OTLP: it has neither `resourceSpans` nor `resourceLogs`"
TOO_DEEP = "the values are nested too deeply"
"""Why a record is skipped that Python cannot bear."""


class OtlpImporter:
    """One trace a conversation: what spans of one session, or of one trace, tell of requests to models."""

    name = "otlp"
    signs = "`resourceSpans`, or a protobuf body that holds them"

    def recognises(self, sample: Sample) -> float:
        """By the member that holds the spans, or by the shape of a protobuf body."""
        if any(map(has_resources, sample.rows)) or _RESOURCES.match(sample.text.lstrip("\ufeff \t\r\n")):
            return 0.9
        return 0.8 if is_otlp(sample.head) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """What cannot be read, then the traces; sessions in the order of their first spans."""
        with SpanShelf() as shelf:
            spans = read_protobuf(file) if is_otlp(file.head) else _of_rows(file)
            yield from put_aside(spans, shelf)
            yield from traces_in(shelf)


def put_aside(spans: Iterable[OtlpSpan | Skipped], shelf: SpanShelf) -> Iterator[Skipped]:
    """Put spans on a shelf; what gives none, and why."""
    for span in spans:
        if isinstance(span, Skipped):
            yield span
        elif not span.id:
            yield Skipped(f"span `{span.name}`", "the span has no id")
        else:
            try:
                shelf.put(span)
            except RecursionError:
                yield Skipped(f"span {span.id}", TOO_DEEP)


def traces_in(shelf: SpanShelf) -> Iterator[Trace | Skipped]:
    """The traces of all sessions on a shelf; sessions without a request to a model are counted in a Skipped."""
    without = 0
    for id_, spans in shelf.sessions():
        traces = session_traces(id_, spans)
        first = next(traces, None)
        if first is None:
            without += 1
            continue
        yield first
        yield from traces
    if without:
        said = f"{without} of the traces in this file tell of no request to a model"
        yield Skipped("other spans", said, is_irrelevant=True)


def session_traces(id_: ExternalId, spans: Iterable[OtlpSpan]) -> Iterator[Trace]:
    """The traces that the spans of one session tell of."""
    messages, known = Messages(), KnownMessages()
    read = [read_span(span, messages, known) for span in merged(spans)]
    found = RecognisedBy.FIELD if id_.name != "trace_id" else RecognisedBy.RECORD
    return traces_of_spans(read, (id_,), recognised_by=found, warnings=(NO_CHUNKS,))


def _of_rows(file: SourceFile) -> Iterator[OtlpSpan | Skipped]:
    for row in read_rows(file):
        if isinstance(row, Skipped):
            yield row
        elif not has_resources(row.value):
            yield Skipped(row.record, _NO_SPANS, is_irrelevant=isinstance(row.value.get("resourceMetrics"), list))
        else:
            try:
                yield from spans_of(row.value)
            except RecursionError:
                yield Skipped(row.record, TOO_DEEP)
