"""Rows of gateway logs: reads them from JSON or CSV, parses common values, and builds traces of requests by session."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.importers.identity import with_warnings
from weaklink.inspector.importers.records import Row, json_within, read_rows
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile, until_damage
from weaklink.inspector.json_text import TOO_DEEP
from weaklink.inspector.memory import RECORD_BYTES, RECORD_MEMORY, too_long
from weaklink.inspector.model import BodyState, Json, Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.sessions.exchange import Exchange, Headers
from weaklink.inspector.sessions.gathering import SkippedExchange, traces_of
from weaklink.inspector.text import decode

INPUT_KEYS = frozenset({"messages", "input", "prompt", "contents"})
"""The members of a request that have its input; a body without any of them is none."""

LOST = "if a request failed or was stored without its answer, the model's output is lost"
"""The warning of a trace with such a request."""

MAX_HELD_BYTES = RECORD_MEMORY // 5
"""The most bytes of requests and answers that are kept in memory to find sessions."""

_LONG = (
    "the log is too long to hold in memory; it was read in sections: a session in several sections becomes several "
    "traces"
)
_MARK = "\0"
_EVENTS = lazy_pattern(r"\ufeff?\s*(?:data|event|id|retry)?:")
_NUMBER = lazy_pattern(r"-?\d{1,15}(?:\.\d{1,15})?")
_ORIGIN = lazy_pattern(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_MANY_COLUMNS = 1_000
_BLANK = "\ufeff \t\r\n"


class LoggedRequest(Struct, frozen=True):
    """One request and its answer, as a gateway logged them.

    `uncertain_ids` are ids, as headers, that gateways generate for each request whose client sends none: they are used
    only if two different requests share one. `warnings` list what the source did not keep; all traces of the file get
    them.
    """

    exchange: Exchange
    uncertain_ids: Headers = ()
    warnings: tuple[str, ...] = ()


Logged: TypeAlias = Callable[[SourceFile], Iterator[LoggedRequest | Trace | Skipped]]
"""Yields the content of a gateway's file, record by record."""

ReadEntry: TypeAlias = Callable[[JsonObject, str], LoggedRequest | Trace | Skipped]
"""Reads an entry of a log; the text is its position."""


class GatewayImporter(Struct, frozen=True):
    """An Importer of a gateway's log: the sessions of its requests.

    `confidence` returns the confidence that an entry is this gateway's; `new_reader` makes a ReadEntry for one import.
    `unwrapped` extracts the entry from an object that some writers put around it. `may_be_table` is True if the gateway
    also exports CSV.
    """

    name: str
    signs: str
    confidence: Callable[[JsonObject], float]
    new_reader: Callable[[], ReadEntry]
    unwrapped: Callable[[JsonObject], JsonObject] = lambda value: value
    may_be_table: bool = True

    def recognises(self, sample: FileSample) -> float:
        """The highest confidence among the first entries."""
        rows = sample_rows(sample) if self.may_be_table else sample.rows
        entries = (one for row in rows for _, one in entries_of(self.unwrapped(row)))
        return max(map(self.confidence, entries), default=0.0)

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The records that contain no request, and traces of single records, then the traces of the requests."""
        return gathered(self._logged(file, self.new_reader()))

    def read_together(self, files: Sequence[SourceFile]) -> Iterator[Trace | Skipped]:
        """The same for several files, whose requests may belong to the same sessions."""
        return gathered_from(files, partial(self._logged, read=self.new_reader()), self.name)

    def _logged(self, file: SourceFile, read: ReadEntry) -> Iterator[LoggedRequest | Trace | Skipped]:
        for row in read_entries(file) if self.may_be_table else read_rows(file):
            if isinstance(row, Skipped):
                yield row
            else:
                for place, value in entries_of(self.unwrapped(row.value)):
                    yield read(value, f"{row.record}{place}")


def gathered(records: Iterable[LoggedRequest | Trace | Skipped]) -> Iterator[Trace | Skipped]:
    """The traces of the requests in one log, after all its other records: skipped ones, and traces by themselves.

    Requests of one session may be anywhere in a log, so they are kept until the end, with about five times the bytes of
    their bodies. A log longer than `MAX_HELD_BYTES` is processed in sections: a session that continues in a later
    section becomes several traces, the later ones with the earlier turns as copied context.
    """
    logged: list[LoggedRequest] = []
    size_so_far = 0
    section_warning: tuple[str, ...] = ()
    for record in records:
        if not isinstance(record, LoggedRequest):
            yield record
            continue
        size = len(record.exchange.body or b"") + sum(len(raw) for _, raw in record.exchange.answer or ())
        if logged and size_so_far + size > MAX_HELD_BYTES:
            section_warning = (_LONG,)
            yield from _traces(logged, section_warning)
            logged, size_so_far = [], 0
        logged.append(record)
        size_so_far += size
    yield from _traces(logged, section_warning)


def gathered_from(files: Sequence[SourceFile], logged: Logged, source: str) -> Iterator[Trace | Skipped]:
    """The traces of the requests in several files; each names the file of its first request."""
    for found in gathered(_numbered(files, logged)):
        record = found.record if isinstance(found, Skipped) else found.provenance.record
        file_number, _, place = record.partition(_MARK)
        file = files[int(file_number)]
        if isinstance(found, Skipped):
            yield structs.replace(found, record=place, file=file.name)
        else:
            provenance = structs.replace(
                found.provenance, source=source, file=file.name, file_sha256=file.sha256, record=place
            )
            yield structs.replace(found, provenance=provenance)


def _traces(logged: Sequence[LoggedRequest], section_warning: tuple[str, ...]) -> Iterator[Trace | Skipped]:
    shared = _shared(logged)
    warnings = dict.fromkeys((*section_warning, *(warning for request in logged for warning in request.warnings)))
    for found in traces_of(_with_ids(request, shared) for request in logged):
        if isinstance(found, SkippedExchange):
            yield Skipped(found.record, found.reason, is_irrelevant=found.is_irrelevant)
        else:
            yield _warned(found, warnings)


def _numbered(files: Sequence[SourceFile], logged: Logged) -> Iterator[LoggedRequest | Trace | Skipped]:
    """The records of all files; each position begins with the file's number."""
    for number, file in enumerate(files):
        for one in logged(file):
            if isinstance(one, LoggedRequest):
                exchange = structs.replace(one.exchange, record=f"{number}{_MARK}{one.exchange.record}")
                yield structs.replace(one, exchange=exchange)
            elif isinstance(one, Trace):
                yield structs.replace(
                    one, provenance=structs.replace(one.provenance, record=f"{number}{_MARK}{one.provenance.record}")
                )
            else:
                yield structs.replace(one, record=f"{number}{_MARK}{one.record}")


def _shared(logged: Iterable[LoggedRequest]) -> set[tuple[str, str]]:
    """The uncertain ids that requests with different bodies share: retries alone make no session."""
    first: dict[tuple[str, str], int] = {}
    shared: set[tuple[str, str]] = set()
    for request in logged:
        body_hash = hash(request.exchange.body)
        shared.update(id_ for id_ in request.uncertain_ids if first.setdefault(id_, body_hash) != body_hash)
    return shared


def _with_ids(request: LoggedRequest, shared: set[tuple[str, str]]) -> Exchange:
    header_values = {value for _, value in request.exchange.head.headers}
    ids = tuple(id_ for id_ in request.uncertain_ids if id_ in shared and id_[1] not in header_values)
    head = request.exchange.head
    return (
        structs.replace(request.exchange, head=structs.replace(head, headers=(*head.headers, *ids)))
        if ids
        else request.exchange
    )


def _warned(trace: Trace, warnings: Iterable[str]) -> Trace:
    bodies = (turn.generation.body for turn in trace.turns if turn.generation is not None)
    return with_warnings(trace, (*warnings, *([LOST] if BodyState.NOT_STORED in bodies else [])))


class GatewayAnswer(Struct, frozen=True):
    """An answer's body as a gateway stored it, in the form of `Exchange`; `pieces` is None if it is lost."""

    headers: Headers = ()
    pieces: tuple[tuple[float | None, bytes], ...] | None = None


def only_rows(
    is_row: Callable[[JsonObject], bool],
    read: Callable[[JsonObject, str], LoggedRequest | Skipped],
    otherwise: str,
) -> Callable[[], ReadEntry]:
    """A `new_reader` of a log with rows of one kind; `otherwise` is what any other entry is, in words."""
    return lambda: lambda value, record: read(value, record) if is_row(value) else Skipped(record, otherwise)


def status_of(value: Json) -> int | None:
    """An HTTP status, or its text; None for anything else."""
    number = number_of(value)
    return int(number) if number is not None and 100 <= number < 1000 else None


def entries_of(value: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The rows in a record, each with its position: the record itself, or the rows of its `data` or of a list.

    The pages of gateways' own APIs are `{"data": [...]}`, or `{"data": {...}}` for a single row.
    """
    rows = value.get("data", value.get("messages") if value.keys() == {"messages"} else None)
    if isinstance(rows, dict):
        yield "", rows
    elif isinstance(rows, list) and rows and "request_id" not in value:
        yield from ((f", row {at}", one) for at, one in enumerate(rows, 1) if isinstance(one, dict))
    else:
        yield "", value


def parsed_object(value: Json) -> JsonObject:
    """An object, or its JSON text; an empty one for anything else."""
    parsed = json_within(value)
    return parsed if isinstance(parsed, dict) else {}


def number_of(value: Json) -> float | None:
    """A number, or the number in a text; None for anything else."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1e15:
        return None
    return float(value)


def sent_headers(headers: Json) -> Headers:
    """The headers that the client sent, without those of its body, which is not stored as it was."""
    members = parsed_object(headers).items()
    return tuple(
        (name, value) for name, value in members if isinstance(value, str) and not name.lower().startswith("content-")
    )


def address_of(text: str) -> tuple[str, str]:
    """The part of an address before the path (`https://api.openai.com`), and the path with its query."""
    origin = _ORIGIN.match(text)
    return (origin[0], text[origin.end() :] or "/") if origin else ("", text)


def answer_of(value: Json, ended_s: float | None) -> GatewayAnswer:
    """A stored answer: JSON or its text, the text of an event stream, or the list of its chunks.

    A stream has no times: the gateway did not store when its pieces arrived. None, `""`, `{}` and `[]` are no answer.
    """
    parsed = json_within(value)
    if not parsed:
        return GatewayAnswer()
    if isinstance(parsed, str) and _EVENTS.match(parsed):
        return GatewayAnswer((("content-type", "text/event-stream"),), ((None, body_of(parsed)),))
    if isinstance(parsed, list) and all(isinstance(one, dict) for one in parsed):
        events = b"".join(b"data: " + body_of(one) + b"\n\n" for one in parsed)
        return GatewayAnswer((("content-type", "text/event-stream"),), ((None, events),))
    kind = () if isinstance(parsed, str) else (("content-type", "application/json"),)
    return GatewayAnswer(kind, ((ended_s, body_of(parsed)),))


def body_of(value: Json) -> bytes:
    """A value as the body of a request or an answer: JSON in ASCII or UTF-8; a text unchanged."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, RecursionError):  # a lone surrogate, or an integer of many digits
        return _body_slowly(value)


def _body_slowly(value: Json) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), default=str).encode("ascii")
    except RecursionError:
        return TOO_DEEP.encode("ascii")


def read_entries(file: SourceFile) -> Iterator[Row | Skipped]:
    """The objects of a JSON file, as from `read_rows`, or the rows of a table with a header line.

    A table's members are texts; an empty field is left out. A field may have 64 MiB: an unmatched quote ends the table
    at that field.
    """
    return until_damage(_rows(file)) if _columns(decode(file.head)) else read_rows(file)


def sample_rows(sample: FileSample) -> Iterator[JsonObject]:
    """The first rows of a sample; for a table only the names of its columns, as the members of an object."""
    columns = _columns(sample.text)
    if columns:
        yield dict.fromkeys(columns)
    else:
        yield from sample.rows


def _columns(head: str) -> list[str]:
    """The names in the header of a table; empty if the file is not a table."""
    first = head.lstrip(_BLANK).partition("\n")[0]
    if not first or first[0] in "{[" or "," not in first:
        return []
    try:
        names = next(csv.reader([first], strict=True), [])
    except csv.Error:
        return []
    is_table = 1 < len(names) <= _MANY_COLUMNS and all(name.strip().isidentifier() for name in names)
    return [name.strip() for name in names] if is_table else []


def _rows(file: SourceFile) -> Iterator[Row | Skipped]:
    csv.field_size_limit(RECORD_BYTES)  # the csv module's default limit is 128 KiB, for all readers
    with file.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as text:
        reader = csv.reader(text)
        names = [name.strip() for name in next(reader)]
        number = 0
        try:
            for number, fields in enumerate(reader, 1):  # `number` is used in the handler
                if len(fields) > len(names):
                    yield Skipped(
                        f"row {number}", f"it has {len(fields)} fields, but the table has {len(names)} columns"
                    )
                elif fields:
                    value: JsonObject = {name: field for name, field in zip(names, fields, strict=False) if field}
                    yield Row("row", number, value, json.dumps(value).encode("ascii"))
        except csv.Error as error:
            limit = too_long(RECORD_BYTES) if "field limit" in str(error) else str(error)
            yield Skipped(f"row {number + 1}", f"{limit}; the rest of the file was not read")
