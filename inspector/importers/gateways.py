"""Requests that a gateway logged one by one, gathered into the traces of their sessions."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from inspector.importers.source import JsonObject, Skipped, SourceFile
from inspector.model import BodyState, Json, Trace
from inspector.sessions.exchange import Exchange, Headers
from inspector.sessions.gathering import SkippedExchange, traces_of
from inspector.wire.json_text import TOO_DEEP, parse_json

LOST = "where a request failed or was stored without its answer, what the model had said is lost"
"""The warning of a trace with such a request."""

_MARK = "\0"
_EVENTS = re.compile(r"\ufeff?\s*(?:data|event|id|retry)?:")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's body as a gateway kept it: what `Exchange` wants to know of it; `pieces` is None where it is lost."""

    headers: Headers = ()
    pieces: tuple[tuple[float | None, bytes], ...] | None = None


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
    """The traces that the requests of one file make up, behind all records that are none, or traces by themselves.

    Requests of one session may stand anywhere in a log, so all of them are held until the end, as bytes and decoded:
    memory grows with what the log says, some ten times its size.
    """
    logged: list[LoggedRequest] = []
    for record in records:
        if isinstance(record, LoggedRequest):
            logged.append(record)
        else:
            yield record
    shared = _shared(logged)
    warnings = dict.fromkeys(warning for one in logged for warning in one.warnings)
    for found in traces_of(_with_ids(one, shared) for one in logged):
        yield Skipped(found.record, found.reason) if isinstance(found, SkippedExchange) else _warned(found, warnings)


def gathered_from(files: Sequence[SourceFile], logged: Logged, source: str) -> Iterator[Trace | Skipped]:
    """The traces that the requests of several files make up; each says which file its first request stands in."""
    for found in gathered(_numbered(files, logged)):
        record = found.record if isinstance(found, Skipped) else found.provenance.record
        number, _, place = record.partition(_MARK)
        file = files[int(number)]
        if isinstance(found, Skipped):
            yield Skipped(f"{file.name}: {place}", found.reason)
        else:
            known = replace(found.provenance, source=source, file=file.name, file_sha256=file.sha256, record=place)
            yield replace(found, provenance=known)


def entries_of(value: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The rows that a record holds, each with its place within it: itself, or those of an answer's `data`, or a list's.

    The pages of gateways' own APIs are `{"data": [...]}`, or `{"data": {...}}` for a single row.
    """
    held = value.get("data", value.get("messages") if value.keys() == {"messages"} else None)
    if isinstance(held, dict):
        yield "", held
    elif isinstance(held, list) and held and "request_id" not in value:
        yield from ((f", row {at}", one) for at, one in enumerate(held, 1) if isinstance(one, dict))
    else:
        yield "", value


def parsed(value: Json) -> Json:
    """A member that databases and tables hold as JSON text, as its value; any other as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def object_of(value: Json) -> JsonObject:
    """An object, or its JSON text; an empty one for anything else."""
    held = parsed(value)
    return held if isinstance(held, dict) else {}


def number_of(value: Json) -> float | None:
    """A number, or None for what is none."""
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None
    )


def address_of(text: str) -> tuple[str, str]:
    """What stands before the path of an address (`https://api.openai.com`), and the path with its query."""
    origin = _ORIGIN.match(text)
    return (origin[0], text[origin.end() :] or "/") if origin else ("", text)


def answer_of(value: Json, ended_s: float | None) -> Answer:
    """A kept answer: JSON or its text, the text of an event stream, or the list of its chunks.

    A stream has no times: whoever logged it did not keep when its pieces came. None, `""`, `{}` and `[]` are no answer.
    """
    held = parsed(value)
    if not held:
        return Answer()
    if isinstance(held, str) and _EVENTS.match(held):
        return Answer((("content-type", "text/event-stream"),), ((None, body_of(held)),))
    if isinstance(held, list) and all(isinstance(one, dict) for one in held):
        events = b"".join(b"data: " + body_of(one) + b"\n\n" for one in held)
        return Answer((("content-type", "text/event-stream"),), ((None, events),))
    kind = () if isinstance(held, str) else (("content-type", "application/json"),)
    return Answer(kind, ((ended_s, body_of(held)),))


def body_of(value: Json) -> bytes:
    """A value as the body of a request or an answer: JSON in ASCII or UTF-8; a text is a body as it stands."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, RecursionError):  # a lone surrogate, or an integer of many digits
        return _body_patiently(value)


def _body_patiently(value: Json) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), default=str).encode("ascii")
    except RecursionError:
        return TOO_DEEP.encode("ascii")


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
                yield Skipped(f"{number}{_MARK}{one.record}", one.reason)


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
