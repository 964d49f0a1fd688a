"""Spans put aside while a file is read, and taken down session by session when it ends.

The spans of a session stand anywhere in a file, children before their parents. Their texts wait in a temporary file
beyond `SPOOL_BYTES`; in memory are some hundred bytes a span, and the spans of the one session that is read.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from inspector.importers.otlp_span import OtlpEvent, OtlpSpan
from inspector.importers.rows import parse_json
from inspector.model import ExternalId, Json
from inspector.sealed_spool import Place, SealedSpool

SPOOL_BYTES = 32 << 20
"""How much of the spans' texts is kept in memory."""

SESSION_KEYS = (
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.thread_id",
    "langfuse.session.id",
    "langsmith.trace.session_id",
    "ai.telemetry.metadata.sessionId",
    "session_id",
)
"""Attributes that name the session of a span, the first first."""

_NO_TIME = float("inf")
_EVENTS = 7


@dataclass(slots=True)
class _ShelvedTrace:
    """Where the spans of one trace lie, and its session by the earliest span that names one."""

    id: str
    places: list[Place] = field(default_factory=list)
    session: ExternalId | None = None
    session_s: float = _NO_TIME


class SpanShelf:
    """Takes spans, and gives them back by session. A context: behind it nothing is left.

    `spool_bytes` is how much of their texts is kept in memory, the rest in a temporary file without a name.
    """

    def __init__(self, *, spool_bytes: int = SPOOL_BYTES) -> None:
        self._spool = SealedSpool(spool_bytes)
        self._traces: dict[str, _ShelvedTrace] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def put(self, span: OtlpSpan) -> None:
        """Put a span aside; RecursionError where it is nested too deeply."""
        packed = _packed(span)
        trace = self._traces.setdefault(span.trace_id, _ShelvedTrace(span.trace_id))
        trace.places.append(self._spool.put(packed))
        start_s = _NO_TIME if span.start_s is None else span.start_s
        session = session_of(span)
        if session is not None and (trace.session is None or start_s < trace.session_s):
            trace.session, trace.session_s = session, start_s

    def sessions(self) -> Iterator[tuple[ExternalId, Iterator[OtlpSpan]]]:
        """The id of each session, and its spans in the order they were put; sessions in the order of their first.

        A trace whose spans name no session is one by itself.
        """
        sessions: dict[ExternalId, list[_ShelvedTrace]] = {}
        for trace in self._traces.values():
            sessions.setdefault(trace.session or ExternalId("trace_id", trace.id), []).append(trace)
        for id_, traces in sessions.items():
            yield id_, self._taken(traces)

    def _taken(self, traces: list[_ShelvedTrace]) -> Iterator[OtlpSpan]:
        for place in sorted(place for trace in traces for place in trace.places):
            yield _unpacked(self._spool.take(place))


def session_of(span: OtlpSpan) -> ExternalId | None:
    """The session that a span names, None where it names none."""
    for key in SESSION_KEYS:
        value = span.attributes.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return ExternalId(key, str(value))
    return None


def _packed(span: OtlpSpan) -> bytes:
    events: list[Json] = [[event.name, event.at_s, event.attributes] for event in span.events]
    held: list[Json] = [
        *(span.trace_id, span.id, span.parent_id, span.name, span.start_s, span.end_s, span.attributes, events),
        *(span.status, span.message, span.service, span.dropped),
    ]
    try:
        return msgspec.msgpack.encode(held)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, integers beyond 64 bits
        return json.dumps(held, default=str).encode("ascii")


def _unpacked(packed: bytes) -> OtlpSpan:
    held: Any = parse_json(packed) if packed.startswith(b"[") else msgspec.msgpack.decode(packed)  # as it was packed
    held[_EVENTS] = tuple(OtlpEvent(*event) for event in held[_EVENTS])
    return OtlpSpan(*held)
