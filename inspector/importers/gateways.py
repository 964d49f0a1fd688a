"""Requests that a gateway logged one by one, gathered into the traces of their sessions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from inspector.importers.source import Skipped, SourceFile
from inspector.memory import RECORD_MEMORY
from inspector.model import BodyState, Trace
from inspector.sessions.exchange import Exchange, Headers
from inspector.sessions.gathering import SkippedExchange, traces_of

LOST = "where a request failed or was stored without its answer, what the model had said is lost"
"""The warning of a trace with such a request."""

MAX_HELD_BYTES = RECORD_MEMORY // 5
"""How much of requests and answers is held to find sessions in."""

_LONG = "the log is too long to be held at once: sessions that go on beyond a stretch of it stand in several traces"
_MARK = "\0"


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request and its answer, as a gateway logged them.

    `perhaps` are ids, as headers, that gateways make up for each request whose client sends none: they count where two
    different requests have one. `warnings` say what the source did not keep; they go to all traces of the file.
    """

    exchange: Exchange
    perhaps: Headers = ()
    warnings: tuple[str, ...] = ()


Logged: TypeAlias = Callable[[SourceFile], Iterator[LoggedRequest | Trace | Skipped]]
"""What a gateway's file holds, record by record."""


def gathered(records: Iterable[LoggedRequest | Trace | Skipped]) -> Iterator[Trace | Skipped]:
    """The traces that the requests of one log make up, behind all records that are none, or traces by themselves.

    Requests of one session may stand anywhere in a log, so they are held until the end, in some five times the bytes of
    their bodies. A longer log than `MAX_HELD_BYTES` is gathered in stretches: a session that goes on beyond one stands
    in several traces, the later with what came before as copied context.
    """
    logged: list[LoggedRequest] = []
    held = 0
    note: tuple[str, ...] = ()
    for record in records:
        if not isinstance(record, LoggedRequest):
            yield record
            continue
        size = _size(record.exchange)
        if logged and held + size > MAX_HELD_BYTES:
            note = (_LONG,)
            yield from _traces(logged, note)
            logged, held = [], 0
        logged.append(record)
        held += size
    yield from _traces(logged, note)


def gathered_from(files: Sequence[SourceFile], logged: Logged, source: str) -> Iterator[Trace | Skipped]:
    """The traces that the requests of several files make up; each says which file its first request stands in."""
    for found in gathered(_numbered(files, logged)):
        record = found.record if isinstance(found, Skipped) else found.provenance.record
        number, _, place = record.partition(_MARK)
        file = files[int(number)]
        if isinstance(found, Skipped):
            yield replace(found, record=place, file=file.name)
        else:
            known = replace(found.provenance, source=source, file=file.name, file_sha256=file.sha256, record=place)
            yield replace(found, provenance=known)


def _traces(logged: Sequence[LoggedRequest], note: tuple[str, ...]) -> Iterator[Trace | Skipped]:
    shared = _shared(logged)
    warnings = dict.fromkeys((*note, *(warning for one in logged for warning in one.warnings)))
    for found in traces_of(_with_ids(one, shared) for one in logged):
        if isinstance(found, SkippedExchange):
            yield Skipped(found.record, found.reason, is_irrelevant=found.is_irrelevant)
        else:
            yield _warned(found, warnings)


def _size(exchange: Exchange) -> int:
    return len(exchange.body or b"") + sum(len(raw) for _, raw in exchange.answer or ())


def _numbered(files: Sequence[SourceFile], logged: Logged) -> Iterator[LoggedRequest | Trace | Skipped]:
    """The records of all files, their places with the file's number before them."""
    for number, file in enumerate(files):
        for one in logged(file):
            if isinstance(one, LoggedRequest):
                exchange = replace(one.exchange, record=f"{number}{_MARK}{one.exchange.record}")
                yield replace(one, exchange=exchange)
            elif isinstance(one, Trace):
                yield replace(one, provenance=replace(one.provenance, record=f"{number}{_MARK}{one.provenance.record}"))
            else:
                yield replace(one, record=f"{number}{_MARK}{one.record}")


def _shared(logged: Iterable[LoggedRequest]) -> set[tuple[str, str]]:
    """The doubtful ids that requests of different words have in common: retries alone make no session."""
    first: dict[tuple[str, str], int] = {}
    shared: set[tuple[str, str]] = set()
    for one in logged:
        words = hash(one.exchange.body)
        shared.update(id_ for id_ in one.perhaps if first.setdefault(id_, words) != words)
    return shared


def _with_ids(one: LoggedRequest, shared: set[tuple[str, str]]) -> Exchange:
    known = {value for _, value in one.exchange.head.headers}
    ids = tuple(id_ for id_ in one.perhaps if id_ in shared and id_[1] not in known)
    head = one.exchange.head
    return replace(one.exchange, head=replace(head, headers=(*head.headers, *ids))) if ids else one.exchange


def _warned(trace: Trace, warnings: Iterable[str]) -> Trace:
    known = trace.provenance
    bodies = (turn.generation.body for turn in trace.turns if turn.generation is not None)
    lost = [LOST] if BodyState.NOT_STORED in bodies else []
    return replace(trace, provenance=replace(known, warnings=(*known.warnings, *warnings, *lost)))
