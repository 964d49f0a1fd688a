"""Spans that stand as rows of a file, in any order, gathered by their session."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from inspector.importers.framework_flattened import without_flattened
from inspector.importers.identity import instant
from inspector.importers.lines import RECORD_BYTES, too_long
from inspector.importers.rows import Row
from inspector.importers.source import Skipped
from inspector.importers.span_traces import traces_of_spans
from inspector.importers.spans import TracedSpan
from inspector.model import ExternalId, Instant, Json, ParentTrace, ParentWhy, Trace

_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\Z")


class SpanSessions:
    """Takes spans and gives the traces of all their sessions in the end, in the order in which the sessions began.

    A span of a session may come last of all, so every span is in memory, within `limit` bytes of rows.
    """

    def __init__(self, *, limit: int = RECORD_BYTES) -> None:
        self._limit = limit
        self._left = limit
        self._spans: dict[tuple[ExternalId, ...], list[TracedSpan]] = {}

    def take(self, row: Row, ids: tuple[ExternalId, ...], span: TracedSpan, *, size: int) -> Skipped | None:
        """One more span, of `size` bytes; why not, where they are more than the bound."""
        self._left -= size
        if self._left < 0:
            return Skipped(row.record, f"{too_long(self._limit)}, with the rows before it; the rest was not read")
        self._spans.setdefault(ids, []).append(span)
        return None

    def traces(self) -> Iterator[Trace | Skipped]:
        """The traces of each session; a session in which no model was asked is a Skipped."""
        for ids, spans in self._spans.items():
            yield from session_traces(spans, ids, f"{ids[0].name} {ids[0].value}")


def session_traces(spans: Iterable[TracedSpan], ids: tuple[ExternalId, ...], record: str) -> Iterator[Trace | Skipped]:
    """The traces of one session, or why there is none; each has the store's id of the trace that it begins in as well.

    A sub-agent is at work within the store's trace of its parent; what merely has the same session's id is no child.

    `record` says where in the file the session stands.
    """
    listed = without_flattened(spans)
    stored = {span.id: span.span_trace for span in listed}
    found = False
    for trace in traces_of_spans(listed, ids):
        found = True
        *before, own = trace.external_ids
        beside = ExternalId("trace_id", stored.get(own.value, ""))
        more = [beside] if beside.value and beside not in before else []
        place = replace(trace.provenance, record=f"{record}, {trace.provenance.record}")
        parent = trace.parent if _may_be_parent(trace.parent, own, stored) else None
        yield replace(trace, external_ids=(*before, *more, own), parent=parent, provenance=place)
    if not found:
        yield Skipped(record, "no request to a model is among its spans")


def utc_instant(value: Json) -> Instant | None:
    """A time as stores write it; one without a zone is in UTC, as their documentation says, and no guess."""
    return instant(f"{value}Z" if isinstance(value, str) and not _ZONE.search(value) else value)


def _may_be_parent(parent: ParentTrace | None, own: ExternalId, stored: dict[str, str]) -> bool:
    if parent is None or parent.why is not ParentWhy.SUBAGENT:
        return True
    return stored.get(parent.external_id.value) == stored.get(own.value)
