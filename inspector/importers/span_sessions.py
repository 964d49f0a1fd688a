"""The spans of one session of a tracing store as traces, or why there are none."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from inspector.importers.framework_flattened import without_flattened
from inspector.importers.identity import instant
from inspector.importers.source import Skipped
from inspector.importers.span_rows import SESSION
from inspector.importers.span_traces import traces_of_spans
from inspector.importers.spans import TracedSpan
from inspector.model import ExternalId, Instant, Json, RecognisedBy, Trace

_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\Z")


def session_traces(spans: Iterable[TracedSpan], own: ExternalId, record: str = "") -> Iterator[Trace | Skipped]:
    """The traces of the session that `own` names; a Skipped where no model was asked.

    `record` says where in the file the session stands, `""` where its rows stand anywhere.
    """
    by = RecognisedBy.FIELD if own.name == SESSION else RecognisedBy.RECORD
    found = False
    for trace in traces_of_spans(without_flattened(_told_apart(spans)), (own,), recognised_by=by):
        found = True
        place = f"{record}, {trace.provenance.record}" if record else trace.provenance.record
        yield replace(trace, provenance=replace(trace.provenance, record=place))
    if not found:
        place = record or f"{own.name} {own.value}"
        yield Skipped(place, "no request to a model is among its spans", is_irrelevant=True)


def _told_apart(spans: Iterable[TracedSpan]) -> list[TracedSpan]:
    """The spans; an id that spans of two of the store's traces have gets the trace's before it."""
    listed = list(spans)
    first: dict[str, str] = {}
    shared = {span.id for span in listed if first.setdefault(span.id, span.span_trace) != span.span_trace}
    if not shared:
        return listed
    return [
        replace(
            span,
            id=f"{span.span_trace}/{span.id}" if span.id in shared else span.id,
            parent_id=f"{span.span_trace}/{span.parent_id}" if span.parent_id in shared else span.parent_id,
        )
        for span in listed
    ]


def utc_instant(value: Json) -> Instant | None:
    """A time as stores write it; one without a zone is in UTC, as their documentation says, and no guess."""
    return instant(f"{value}Z" if isinstance(value, str) and not _ZONE.search(value) else value)
