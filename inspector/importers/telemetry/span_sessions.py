"""Rows that describe spans, spooled while a file is read, and turned into traces session by session at its end."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Self

import msgspec
from msgspec.structs import replace

from inspector.importers.identity import instant
from inspector.importers.records import parse_json_bytes
from inspector.importers.source import JsonObject, Skipped
from inspector.importers.telemetry.framework_messages import without_flattened
from inspector.importers.telemetry.span_traces import traces_of_spans
from inspector.importers.telemetry.spans import TracedSpan
from inspector.model import ExternalId, Instant, Json, RecognisedBy, Trace
from inspector.scanning import lazy_pattern
from inspector.sealed_spool import SealedSpool, SpoolPlace

_ZONE = lazy_pattern(r"(?:Z|[+-]\d\d:?\d\d)\Z")
SPOOL_BYTES = 32 << 20
"""How much of the rows' texts is kept in memory."""

SESSION, TRACE = "session_id", "trace_id"
"""The names of the ids by which sessions are told apart: one that the store was told, else that of its trace."""


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


# Rows that tell of spans, put aside while a file is read, and taken down session by session when it ends.
#
# The rows of a session stand anywhere in a file, and a span may be told of in several (begun in one, ended in another).
# Their texts wait in a temporary file beyond `SPOOL_BYTES`; in memory are some hundred bytes a row, and the rows of the
# one session that is read.


_pack = msgspec.json.Encoder().encode


class RowSpool:
    """Takes rows, and gives them back by session. To be closed, or used as a context.

    `trace_of` and `session_of` give the ids of the store's trace and of the session that a row names, `""` where it
    names none: any row of a span may name its trace, and any of a trace its session.
    """

    def __init__(self, trace_of: Callable[[JsonObject], str], session_of: Callable[[JsonObject], str]) -> None:
        self._trace_of, self._session_of = trace_of, session_of
        self._spool = SealedSpool(SPOOL_BYTES)
        self._places: dict[str, list[SpoolPlace]] = {}
        self._traces: dict[str, str] = {}
        self._sessions: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def put(self, span: str, row: JsonObject) -> None:
        """Put a row aside that tells of the span with this key; ValueError where it is nested too deeply for that."""
        self._places.setdefault(span, []).append(self._spool.put(_packed(row)))
        if trace := self._trace_of(row):
            self._traces.setdefault(span, trace)
        if session := self._session_of(row):
            self._sessions.setdefault(span, session)

    def sessions(self) -> Iterator[tuple[ExternalId, Iterator[JsonObject]]]:
        """The id of each session, and its spans, each as one row; sessions and spans in the order they were put.

        Of a member that several rows of a span have, the last that is not null counts.
        """
        named: dict[str, str] = {}
        for span, session in self._sessions.items():
            named.setdefault(self._traces.get(span, span), session)
        found: dict[ExternalId, list[str]] = {}
        for span in self._places:
            trace = self._traces.get(span, span)
            own = ExternalId(SESSION, named[trace]) if trace in named else ExternalId(TRACE, trace)
            found.setdefault(own, []).append(span)
        for own, spans in found.items():
            yield own, map(self._taken, spans)

    def _taken(self, span: str) -> JsonObject:
        taken: JsonObject = {}
        for place in self._places[span]:
            row = parse_json_bytes(self._spool.take(place))
            assert isinstance(row, dict), "only objects were put here"
            taken.update((key, value) for key, value in row.items() if value is not None or key not in taken)
        return taken


def _packed(row: JsonObject) -> bytes:
    try:
        return _pack(row)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, integers beyond 64 bits
        pass
    except RecursionError:
        raise ValueError("the row is nested too deeply") from None
    try:
        return json.dumps(row, default=str).encode("ascii")
    except RecursionError:
        raise ValueError("the row is nested too deeply") from None
