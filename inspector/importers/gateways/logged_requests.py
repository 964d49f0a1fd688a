"""Rows of gateway logs: read from JSON or CSV, their common values, and the requests as traces by session."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from inspector.importers.compression import DamagedDataError
from inspector.importers.records import Row, read_rows
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.memory import RECORD_BYTES, RECORD_MEMORY, too_long
from inspector.model import BodyState, Json, Trace
from inspector.scanning import lazy_pattern
from inspector.sessions.exchange import Exchange, Headers
from inspector.sessions.gathering import SkippedExchange, traces_of
from inspector.text import decode
from inspector.wire.provider_json import TOO_DEEP, parse_json

LOST = "where a request failed or was stored without its answer, what the model had said is lost"
"""The warning of a trace with such a request."""

MAX_HELD_BYTES = RECORD_MEMORY // 5
"""How much of requests and answers is held to find sessions in."""

_LONG = "the log is too long to be held at once: sessions that go on beyond a stretch of it become several traces"
_MARK = "\0"
_EVENTS = lazy_pattern(r"\ufeff?\s*(?:data|event|id|retry)?:")
_NUMBER = lazy_pattern(r"-?\d{1,15}(?:\.\d{1,15})?")
_ORIGIN = lazy_pattern(r"[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
_MANY_COLUMNS = 1_000
_BLANK = "\ufeff \t\r\n"


class LoggedRequest(Struct, frozen=True):
    """One request and its answer, as a gateway logged them.

    `perhaps` are ids, as headers, that gateways make up for each request whose client sends none: they count where two
    different requests have one. `warnings` say what the source did not keep; they go to all traces of the file.
    """

    exchange: Exchange
    perhaps: Headers = ()
    warnings: tuple[str, ...] = ()


Logged: TypeAlias = Callable[[SourceFile], Iterator[LoggedRequest | Trace | Skipped]]
"""What a gateway's file holds, record by record."""

ReadEntry: TypeAlias = Callable[[JsonObject, str], LoggedRequest | Trace | Skipped]
"""Reads an entry of a log; the text names its place."""


class GatewayImporter(Struct, frozen=True):
    """An Importer of a gateway's log: the sessions that its requests make up.

    `confidence` says of an entry how sure it is that it is this gateway's; `new_reader` makes a ReadEntry for one
    import. `unwrapped` takes the entry out of what some writers put around it. `may_be_table` is whether there are
    exports as CSV.
    """

    name: str
    signs: str
    confidence: Callable[[JsonObject], float]
    new_reader: Callable[[], ReadEntry]
    unwrapped: Callable[[JsonObject], JsonObject] = lambda value: value
    may_be_table: bool = True

    def recognises(self, sample: FileSample) -> float:
        """By the surest of the first entries."""
        rows = sample_rows(sample) if self.may_be_table else sample.rows
        entries = (one for row in rows for _, one in entries_of(self.unwrapped(row)))
        return max(map(self.confidence, entries), default=0.0)

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The traces, behind the records that are none, or traces by themselves."""
        return gathered(self._logged(file, self.new_reader()))

    def read_together(self, files: Sequence[SourceFile]) -> Iterator[Trace | Skipped]:
        """The same of several files, whose requests may belong to the same sessions."""
        return gathered_from(files, partial(self._logged, read=self.new_reader()), self.name)

    def _logged(self, file: SourceFile, read: ReadEntry) -> Iterator[LoggedRequest | Trace | Skipped]:
        for row in read_entries(file) if self.may_be_table else read_rows(file):
            if isinstance(row, Skipped):
                yield row
            else:
                for place, value in entries_of(self.unwrapped(row.value)):
                    yield read(value, f"{row.record}{place}")


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
    """The traces that the requests of several files make up; each says which file its first request is in."""
    for found in gathered(_numbered(files, logged)):
        record = found.record if isinstance(found, Skipped) else found.provenance.record
        number, _, place = record.partition(_MARK)
        file = files[int(number)]
        if isinstance(found, Skipped):
            yield structs.replace(found, record=place, file=file.name)
        else:
            known = structs.replace(
                found.provenance, source=source, file=file.name, file_sha256=file.sha256, record=place
            )
            yield structs.replace(found, provenance=known)


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
                exchange = structs.replace(one.exchange, record=f"{number}{_MARK}{one.exchange.record}")
                yield structs.replace(one, exchange=exchange)
            elif isinstance(one, Trace):
                yield structs.replace(
                    one, provenance=structs.replace(one.provenance, record=f"{number}{_MARK}{one.provenance.record}")
                )
            else:
                yield structs.replace(one, record=f"{number}{_MARK}{one.record}")


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
    return (
        structs.replace(one.exchange, head=structs.replace(head, headers=(*head.headers, *ids)))
        if ids
        else one.exchange
    )


def _warned(trace: Trace, warnings: Iterable[str]) -> Trace:
    known = trace.provenance
    bodies = (turn.generation.body for turn in trace.turns if turn.generation is not None)
    lost = [LOST] if BodyState.NOT_STORED in bodies else []
    return structs.replace(trace, provenance=structs.replace(known, warnings=(*known.warnings, *warnings, *lost)))


class GatewayAnswer(Struct, frozen=True):
    """An answer's body as a gateway kept it: what `Exchange` wants to know of it; `pieces` is None where it is lost."""

    headers: Headers = ()
    pieces: tuple[tuple[float | None, bytes], ...] | None = None


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


def parsed_member(value: Json) -> Json:
    """A member that databases and tables hold as JSON text, as its value; any other as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def parsed_object(value: Json) -> JsonObject:
    """An object, or its JSON text; an empty one for anything else."""
    held = parsed_member(value)
    return held if isinstance(held, dict) else {}


def number_of(value: Json) -> float | None:
    """A number, or the text of one; None for what is none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1e15:
        return None
    return float(value)


def address_of(text: str) -> tuple[str, str]:
    """What is before the path of an address (`https://api.openai.com`), and the path with its query."""
    origin = _ORIGIN.match(text)
    return (origin[0], text[origin.end() :] or "/") if origin else ("", text)


def answer_of(value: Json, ended_s: float | None) -> GatewayAnswer:
    """A kept answer: JSON or its text, the text of an event stream, or the list of its chunks.

    A stream has no times: whoever logged it did not keep when its pieces came. None, `""`, `{}` and `[]` are no answer.
    """
    held = parsed_member(value)
    if not held:
        return GatewayAnswer()
    if isinstance(held, str) and _EVENTS.match(held):
        return GatewayAnswer((("content-type", "text/event-stream"),), ((None, body_of(held)),))
    if isinstance(held, list) and all(isinstance(one, dict) for one in held):
        events = b"".join(b"data: " + body_of(one) + b"\n\n" for one in held)
        return GatewayAnswer((("content-type", "text/event-stream"),), ((None, events),))
    kind = () if isinstance(held, str) else (("content-type", "application/json"),)
    return GatewayAnswer(kind, ((ended_s, body_of(held)),))


def body_of(value: Json) -> bytes:
    """A value as the body of a request or an answer: JSON in ASCII or UTF-8; a text is a body as it stands."""
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
    """The objects of a JSON file, as `read_rows` gives them, or the rows of a table with a line of names at its head.

    A table's members are texts; an empty field is no member. A field may have 64 MiB: an error in the quotes of one
    ends the table there.
    """
    if not _columns(decode(file.head)):
        yield from read_rows(file)
        return
    try:
        with file.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as text:
            yield from _rows(text)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def sample_rows(sample: FileSample) -> Iterator[JsonObject]:
    """The first rows of a sample; of a table only the names of its columns, as the members of an object."""
    columns = _columns(sample.text)
    if columns:
        yield dict.fromkeys(columns)
    else:
        yield from sample.rows


def _columns(head: str) -> list[str]:
    """The names at the head of a table; none where the file is no table."""
    first = head.lstrip(_BLANK).partition("\n")[0]
    if not first or first[0] in "{[" or "," not in first:
        return []
    try:
        names = next(csv.reader([first], strict=True), [])
    except csv.Error:
        return []
    is_table = 1 < len(names) <= _MANY_COLUMNS and all(name.strip().isidentifier() for name in names)
    return [name.strip() for name in names] if is_table else []


def _rows(text: io.TextIOWrapper) -> Iterator[Row | Skipped]:
    csv.field_size_limit(RECORD_BYTES)  # the library has one bound for all, of 128 KiB
    reader = csv.reader(text)
    names = [name.strip() for name in next(reader)]
    number = 0
    try:
        for number, fields in enumerate(reader, 1):  # the handler tells it
            if len(fields) > len(names):
                yield Skipped(f"row {number}", f"it has {len(fields)} fields, and the table {len(names)} columns")
            elif fields:
                value: JsonObject = {name: field for name, field in zip(names, fields, strict=False) if field}
                yield Row("row", number, value, json.dumps(value).encode("ascii"))
    except csv.Error as error:
        limit = too_long(RECORD_BYTES) if "field limit" in str(error) else str(error)
        yield Skipped(f"row {number + 1}", f"{limit}; what follows it was not read")
