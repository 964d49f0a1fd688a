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
    for trace in traces_of_spans(without_flattened(spans), (own,), recognised_by=by):
        found = True
        place = f"{record}, {trace.provenance.record}" if record else trace.provenance.record
        yield replace(trace, provenance=replace(trace.provenance, record=place))
    if not found:
        yield Skipped(record or f"{own.name} {own.value}", "no request to a model is among its spans")


def utc_instant(value: Json) -> Instant | None:
    """A time as stores write it; one without a zone is in UTC, as their documentation says, and no guess."""
    return instant(f"{value}Z" if isinstance(value, str) and not _ZONE.search(value) else value)
