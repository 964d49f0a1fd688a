"""Spans that stand as rows of a file, in any order, gathered by their session."""

from collections.abc import Iterator

from inspector.importers.lines import RECORD_BYTES, too_long
from inspector.importers.rows import Row
from inspector.importers.source import Skipped
from inspector.importers.span_traces import traces_of_spans
from inspector.importers.spans import TracedSpan
from inspector.model import ExternalId, Trace


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
            found = False
            for trace in traces_of_spans(spans, ids):
                found = True
                yield trace
            if not found:
                yield Skipped(f"{ids[0].name} {ids[0].value}", NO_MODEL)


NO_MODEL = "no request to a model is among its spans"
"""Why a session of spans gives no trace."""
