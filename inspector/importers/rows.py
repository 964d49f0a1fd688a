"""The records of a JSON file as objects: a line each, the entries of one array, or documents one after another."""

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import msgspec

from inspector.importers.elements import Element, read_elements
from inspector.importers.lines import Line, read_lines
from inspector.importers.packing import DamagedDataError
from inspector.importers.source import JsonObject, Skipped, SourceFile
from inspector.memory import RECORD_BYTES, TooMuchMemoryError, check_json
from inspector.model import ExternalId, Json
from inspector.text import decode

SAMPLE_RECORD_BYTES = 32 << 20
"""The longest record that a sample shows: whoever reads files of longer ones knows them by their first bytes."""

_SAMPLE_ROWS = 32
_SAMPLE_RECORDS = 256
_SAMPLE_BYTES = 4 << 20
_LONGEST_INTEGER = 4_300
_MAY_CONTINUE = (b"{", b"[", b",", b":")


@dataclass(frozen=True)  # no slots: the hash is computed when first asked for
class Row:
    """One record that is an object: its place, `line`, `entry` or `document` and a number, its value and its bytes.

    A record that is a list of objects is one too: `{"messages": [...]}`. `ids` are known beside those in the value.
    """

    unit: str
    number: int
    value: JsonObject
    raw: bytes
    ids: tuple[ExternalId, ...] = ()

    @property
    def record(self) -> str:
        """The place in words: `line 12`."""
        return f"{self.unit} {self.number}"

    @cached_property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the record's bytes."""
        return hashlib.sha256(self.raw).hexdigest()[:16]


def read_rows(file: SourceFile, *, limit: int = RECORD_BYTES) -> Iterator[Row | Skipped]:
    """The objects of a JSON file in order, and what is none, with the reason; one record at a time is in memory.

    A file that begins with `[` is one array, if not every line is; one whose first value spans several lines is
    documents; any other is lines. A record may have `limit` bytes. Damaged compression ends the rows with a Skipped.
    """
    unit = layout_of(file.head)
    records: Iterable[Line | Element | Skipped]
    try:
        with file.open() as stream:
            records = read_lines(stream, limit=limit) if unit == "line" else read_elements(stream, limit=limit)
            for record in records:
                yield record if isinstance(record, Skipped) else _row(unit, record)
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))


def first_rows(file: SourceFile) -> Iterator[JsonObject]:
    """The first objects of a file, as many as a sample needs: at least one if there is any near the beginning.

    An object of more than `SAMPLE_RECORD_BYTES` is none of them.
    """
    if not file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) and b"\0" in file.head:
        return
    size = given = 0
    for row in itertools.islice(read_rows(file, limit=SAMPLE_RECORD_BYTES), _SAMPLE_RECORDS):
        if isinstance(row, Skipped):
            continue
        yield row.value
        size, given = size + len(row.raw), given + 1
        if given == _SAMPLE_ROWS or size > _SAMPLE_BYTES:
            return


def layout_of(head: bytes) -> str:
    """Whether a JSON file is one array (`entry`), documents over several lines (`document`), or a value to the `line`.

    `{` alone on the first line, or a first line that a writer of indented JSON would break there, begins a document; a
    first line that is merely broken is a broken line. Several documents on the only line are what appending gives.
    """
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, _, rest = text.partition(b"\n")
    if text.startswith(b"["):
        return "line" if rest.lstrip().startswith(b"[") and _is_json(first) else "entry"
    if not text.startswith(b"{") or _is_json(first):
        return "line"
    if not rest.strip():
        return "document" if _holds_several(first) else "line"
    goes_on = first.rstrip().endswith(_MAY_CONTINUE) or not rest.lstrip().startswith(b"{")
    return "document" if goes_on else "line"


class NotJsonError(ValueError):
    """A text is not JSON; `offset` is the place of the fault in code points."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.offset = offset


def parse_json(raw: bytes) -> Json:
    """The value of a JSON text in bytes, which need not be UTF-8; NotJsonError, in words, for what is none.

    Integers keep all their digits (beyond 4,300 as Decimal), and lone surrogates stay. A text whose value would take
    more memory than `RECORD_MEMORY` is not read.
    """
    try:
        check_json(raw)
        value: Json = msgspec.json.decode(raw)
    except TooMuchMemoryError as error:
        raise NotJsonError(str(error)) from None
    except (ValueError, RecursionError):
        return _parse_patiently(decode(raw))
    return value


def _parse_patiently(text: str) -> Json:
    try:
        value: Json = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise NotJsonError(f"the JSON breaks off: {_worded(error)}", error.pos) from None
        raise NotJsonError(f"this is no JSON: {_worded(error)}", error.pos) from None
    except RecursionError:
        raise NotJsonError("the JSON is nested too deeply") from None
    return value


def _worded(error: json.JSONDecodeError) -> str:
    where = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
    said = error.msg.removesuffix(" at")
    return f"{said[:1].lower()}{said[1:]} at {where}"


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else Decimal(digits)


def _row(unit: str, record: Line | Element) -> Row | Skipped:
    try:
        value = parse_json(record.raw)
    except NotJsonError as error:
        return Skipped(f"{unit} {record.number}", str(error), error.offset)
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return Row(unit, record.number, {"messages": value}, record.raw)
    if not isinstance(value, dict):
        return Skipped(f"{unit} {record.number}", f"{_KINDS.get(type(value), 'a number')} stands here, not an object")
    return Row(unit, record.number, value, record.raw)


_KINDS = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _holds_several(line: bytes) -> bool:
    text = decode(line)
    try:
        _, end = json.JSONDecoder(parse_int=_integer).raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().startswith("{")
