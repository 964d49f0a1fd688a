"""Reads the records of a file: lines, elements of a JSON array, or JSON documents one after another.

Memory use is bounded, however large the file. A broken record does not affect the others.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property, partial
from typing import BinaryIO, Protocol

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.importers.source import JsonObject, Numbering, Skipped, SourceFile, until_damage
from weaklink.inspector.memory import (
    RECORD_BYTES,
    RECORD_MEMORY,
    TooMuchMemoryError,
    check_json,
    too_long,
    too_much,
    transcript_memory,
)
from weaklink.inspector.model import ExternalId, Json
from weaklink.inspector.scanning import closing_quote
from weaklink.inspector.text import decode

TEXT_AFTER_ARRAY = Skipped("end of file", "more text follows the array")
"""The last record of a file in which text follows the array, for example because the array is a member of an object."""

_BLOCK = 1 << 16
_NOT_BLANK = re.compile(rb"[^ \t\r\n\xef\xbb\xbf]")  # a byte order mark counts as blank
_BRACKETS = re.compile(rb'[\[\]{}"]')
_BRACKETS_AND_COMMAS = re.compile(rb'[\[\]{},"]')
_INDENTED, _LAST_LINE = re.compile(rb"\{\r?\n"), b"\n}"
_DEPTH = {b"[": 1, b"{": 1, b"]": -1, b"}": -1, b",": 0}
_ENTRY_ENDS = {b",": b",", b"]": b"]", b"}": b"]"}
_READ_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
SAMPLE_RECORD_BYTES = 32 << 20
"""The longest record in a sample. Importers of files with longer records recognise them by their first bytes."""

_SAMPLE_ROWS = 32
_SAMPLE_RECORDS = 256
_SAMPLE_BYTES = 4 << 20
_MAX_INTEGER_DIGITS = 4_300
_MAY_CONTINUE = (b"{", b"[", b",", b":")
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


class Element(Struct, frozen=True):
    """The exact bytes of one element; `number` counts from 1, `offset` is the stream position of the first byte."""

    number: int
    raw: bytes
    offset: int


def read_elements(stream: BinaryIO, *, limit: int = RECORD_BYTES) -> Iterator[Element | Skipped]:
    """The elements of a file that is one JSON array (`entry N`), or else its JSON documents (`document N`).

    Memory use is little more than twice the longest element. An element of more than `limit` bytes ends the iteration
    with a Skipped that gives this reason.
    """
    splitter = _ElementSplitter(stream, limit)
    if splitter.skip_blank() == b"[":
        return splitter.entries()
    return splitter.documents()


class _TooLongError(Exception):
    pass


class _ElementSplitter:
    """Buffers bytes of the stream. The current element begins at `_start` and has been scanned up to `_at`.

    `_base` is the stream position of the first buffered byte.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._buffer = b""
        self._start = self._at = self._base = 0
        self._ended = False

    def skip_blank(self) -> bytes:
        """Advance to the next byte that is not blank, and return it; `b""` at the end of the stream."""
        while True:
            match = _NOT_BLANK.search(self._buffer, self._at)
            self._start = self._at = match.start() if match else len(self._buffer)
            if match or not self._read_more():
                return match[0] if match else b""

    def entries(self) -> Iterator[Element | Skipped]:
        """The entries of the array whose opening bracket is the next byte."""
        self._at += 1
        number, end = 0, b","
        while end == b",":
            number += 1
            self._start = self._at
            try:
                raw, end = self._to_the_comma()
            except _TooLongError:
                yield self._too_long(f"entry {number}")
                return
            if raw:
                yield Element(number, raw, self._base + self._buffer.index(raw[:1], self._start))
            elif end == b",":
                yield Skipped(f"entry {number}", "empty entry")
        if not end:
            yield Skipped("end of file", "the array is not closed: the file may be truncated")
        elif self.skip_blank():
            yield TEXT_AFTER_ARRAY

    def documents(self) -> Iterator[Element | Skipped]:
        """Every document of the stream; a document ends where its brackets balance."""
        number = 0
        while self.skip_blank():
            number += 1
            try:
                raw = self._indented() or self._to_the_balance()
            except _TooLongError:
                yield self._too_long(f"document {number}")
                return
            yield Element(number, raw, self._base + self._start)

    def _to_the_comma(self) -> tuple[bytes, bytes]:
        """An entry's bytes and what ends it: a comma, the array's bracket, or `b""` for the end of the stream."""
        depth = 0
        while (token := self._next(_BRACKETS if depth else _BRACKETS_AND_COMMAS)) is not None:
            if depth == 0 and token in _ENTRY_ENDS:
                return self._buffer[self._start : self._at - 1].strip(), _ENTRY_ENDS[token]
            depth += _DEPTH[token]
        return self._buffer[self._start :].strip(), b""

    def _indented(self) -> bytes:
        """The document up to the first line that begins with its closing brace, if it is JSON, else `b""`.

        In JSON, no line of an indented document begins so but its last one; counting the brackets of a session takes
        ten times as long.
        """
        if not _INDENTED.match(self._buffer, self._start):
            return b""
        while (end := self._buffer.find(_LAST_LINE, self._at)) < 0:
            self._at = len(self._buffer) - 1
            if len(self._buffer) - self._start > self._limit or not self._read_more():
                break
        raw = self._buffer[self._start : end + len(_LAST_LINE)] if end >= 0 else b""
        self._at = self._start + (len(raw) if raw and _is_one_value(raw) else 0)
        return self._buffer[self._start : self._at]

    def _to_the_balance(self) -> bytes:
        depth = 0
        while (token := self._next(_BRACKETS)) is not None:
            depth += _DEPTH[token]
            if depth <= 0:
                return self._buffer[self._start : self._at]
        return self._buffer[self._start :].strip()

    def _next(self, pattern: re.Pattern[bytes]) -> bytes | None:
        """The next bracket or comma outside of strings, with `_at` after it; None at the end of the stream."""
        while True:
            match = pattern.search(self._buffer, self._at)
            if match is None:
                self._at = len(self._buffer)
            elif match[0] != b'"':
                self._at = match.end()
                return match[0]
            elif (last := closing_quote(self._buffer, b'"', match.end(), len(self._buffer))) >= 0:
                self._at = last + 1
                continue
            else:  # the string continues after the buffered bytes
                self._at = match.start()
            if not self._read_more():
                self._at = len(self._buffer)
                return None

    def _read_more(self) -> bool:
        """Read at least as many bytes as the current element has, so that a long string is rescanned at most twice."""
        length = len(self._buffer) - self._start
        if length > self._limit:
            raise _TooLongError
        block = b"" if self._ended else self._stream.read(max(_BLOCK, length))
        self._ended = not block
        self._buffer = self._buffer[self._start :] + block
        self._base += self._start
        self._at -= self._start
        self._start = 0
        return bool(block)

    def _too_long(self, record: str) -> Skipped:
        return Skipped(record, f"{too_long(self._limit)}; the rest of the file was not read")


class Line(Struct, frozen=True):
    """One line without its line feed; `number` counts from 1."""

    number: int
    raw: bytes


class HasLines(Protocol):
    """A stream that is read line by line, as `io.BufferedReader`."""

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line, or the first `limit` bytes of it."""
        ...


def read_lines(stream: HasLines, *, limit: int = RECORD_BYTES, before: int = 0) -> Iterator[Line | Skipped]:
    """The lines of a stream that are not blank; only a line feed ends a line. A byte order mark is removed.

    `before` is the number of lines before the first one of the stream.

    A line of more than `limit` bytes is a Skipped. At most `limit` bytes of a line, plus one block, are in memory.
    """
    number = before
    block = min(_READ_BYTES, limit + 1)
    while raw := stream.readline(block):
        number += 1
        if len(raw) == block and not raw.endswith(b"\n"):
            line = _long_line(raw, stream, limit)
            if line is None:
                yield Skipped(f"line {number}", too_long(limit))
                continue
            raw = line
        raw = raw.removeprefix(_BOM) if number == 1 else raw
        if raw.strip():
            yield Line(number, raw.rstrip(b"\r\n"))


def _long_line(first: bytes, stream: HasLines, limit: int) -> bytes | None:
    """All of a line that is longer than its first block. None if it is too long; the stream is then after the line."""
    blocks, left = [first], limit - len(first)
    while not blocks[-1].endswith(b"\n") and (block := stream.readline(_READ_BYTES)):
        blocks.append(block)
        left -= len(block) - block.endswith(b"\n")
        if left < 0:
            del blocks[:-1]
    return b"".join(blocks) if left >= 0 else None


class Row(Struct, frozen=True, dict=True):
    """One record that is an object: its position, its value and its bytes.

    The position is a `unit` (`line`, `entry` or `document`) and a number. A record that is a list of objects becomes
    the object `{"messages": [...]}`. `ids` are known in addition to those in the value. `instance` counts the rows that
    one record holds, from 1; it is 0 if the record is the row.
    """

    unit: str
    number: int
    value: JsonObject
    raw: bytes
    ids: tuple[ExternalId, ...] = ()
    instance: int = 0

    @property
    def record(self) -> str:
        """The position in words: `line 12`, or `line 12, instance 3`."""
        return f"{self.unit} {self.number}{instance_words(self.instance)}"

    @cached_property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the record's bytes."""
        return hashlib.sha256(self.raw).hexdigest()[:16]


def instance_words(instance: int) -> str:
    """The end of a position: the number of a row among those of one record; empty for 0."""
    return f", instance {instance}" if instance else ""


def read_rows(file: SourceFile, *, limit: int = RECORD_BYTES) -> Iterator[Row | Skipped]:
    """The objects of a JSON file in order; any other record is a Skipped with the reason.

    A file that begins with `[` is one array, unless every line is one. A file whose first value spans several lines is
    a sequence of documents; any other file is lines. One record at a time is in memory, of at most `limit` bytes.
    Damaged compression ends the rows with a Skipped.
    """
    return until_damage(_rows(file, layout_of(file.head), limit))


def _rows(file: SourceFile, unit: str, limit: int) -> Iterator[Row | Skipped]:
    with file.open() as stream:
        records: Iterator[Line | Element | Skipped]
        records = read_lines(stream, limit=limit) if unit == "line" else read_elements(stream, limit=limit)
        if file.numbering is not None:
            records, unit = (renumbered(record, file.numbering) for record in records), file.numbering.unit
        for record in records:
            yield record if isinstance(record, Skipped) else _row(unit, record)


def lines_of(file: SourceFile) -> Iterator[Line | Skipped]:
    """The lines of a file, as from `read_lines`."""
    with file.open() as stream:
        yield from read_lines(stream)


def blocks_of(file: SourceFile) -> Iterator[bytes]:
    """The bytes of a file in blocks of 64 KiB: so many are lost where compressed data is damaged."""
    with file.open() as stream:
        yield from iter(partial(stream.read, _BLOCK), b"")


def rows_of_lines(stream: HasLines, before: int) -> Iterator[Row | Skipped]:
    """The rows of a stream of lines, after so many lines."""
    for record in read_lines(stream, before=before):
        yield record if isinstance(record, Skipped) else _row("line", record)


def renumbered(record: Line | Element | Skipped, numbering: Numbering) -> Line | Element | Skipped:
    """A record of a block, with its number in the whole file."""
    if not isinstance(record, Skipped):
        return structs.replace(record, number=numbering.number(record.number))
    word, _, number = record.record.rpartition(" ")
    if word == "" or not number.isdecimal():
        return record
    return structs.replace(record, record=f"{numbering.unit} {numbering.number(int(number))}")


def first_rows(file: SourceFile) -> Iterator[JsonObject]:
    """The first objects of a file, as many as a sample needs: at least one if there is any near the beginning.

    Objects of more than `SAMPLE_RECORD_BYTES` are left out.
    """
    if not file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) and b"\0" in file.head:
        return
    size = count = 0
    for row in itertools.islice(read_rows(file, limit=SAMPLE_RECORD_BYTES), _SAMPLE_RECORDS):
        if isinstance(row, Skipped):
            continue
        yield row.value
        size, count = size + len(row.raw), count + 1
        if count == _SAMPLE_ROWS or size > _SAMPLE_BYTES:
            return


def layout_of(head: bytes) -> str:
    """Whether a JSON file is one array (`entry`), documents over several lines (`document`), or lines (`line`).

    A document begins with `{` alone on the first line, or with a first line that breaks where a writer of indented JSON
    breaks lines. Any other invalid first line is a broken line. A file of one line with several documents is a sequence
    of documents: programs that append to a file write that.
    """
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, _, rest = text.partition(b"\n")
    if text.startswith(b"["):
        is_list_a_line = any(line.startswith(b"[") for line in rest.splitlines()) and _is_json(first)
        return "line" if is_list_a_line else "entry"
    if not text.startswith(b"{") or _is_json(first):
        return "line"
    if not rest.strip():
        return "document" if _holds_several(first) else "line"
    goes_on = first.rstrip().endswith(_MAY_CONTINUE) or not rest.lstrip().startswith(b"{")
    return "document" if goes_on else "line"


def whole_text(file: SourceFile) -> str | Skipped:
    """The text of a file that is no JSON; a Skipped if it is too long or would take too much memory as a transcript."""
    with file.open() as stream:
        raw = stream.read(RECORD_BYTES + 1)
    if len(raw) > RECORD_BYTES:
        return Skipped("file", too_long(RECORD_BYTES))
    text = decode(raw)
    needed = transcript_memory(text)
    return text if needed <= RECORD_MEMORY else Skipped("file", too_much(needed))


class NotJsonError(ValueError):
    """A text is not JSON; `offset` is the position of the error in code points."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.offset = offset


def parse_json_bytes(raw: bytes, text: str | None = None) -> Json:
    """The value of a JSON text in bytes, which may be invalid UTF-8. NotJsonError, with the reason, if it is not JSON.

    Integers keep all their digits (as Decimal if they have more than 4,300), and lone surrogates are kept. A text whose
    value would take more memory than `RECORD_MEMORY` is not parsed. `text` is what the bytes were encoded from, if they
    were.
    """
    try:
        check_json(raw)
        value: Json = msgspec.json.decode(raw)
    except TooMuchMemoryError as error:
        raise NotJsonError(str(error)) from None
    except (ValueError, RecursionError):
        return _parse_slowly(decode(raw) if text is None else text)
    return value


def parsed_text(value: Json) -> Json:
    """A value; the value of its JSON text if it is one. Lone surrogates in the text are kept."""
    try:
        return parse_json_bytes(value.encode("utf-8", "surrogatepass"), value) if isinstance(value, str) else value
    except NotJsonError:
        return value


def json_within(value: Json) -> Json:
    """The object or the list in a JSON text; any other value, and a text that is no JSON, unchanged."""
    return parsed_text(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value


def _parse_slowly(text: str) -> Json:
    try:
        value: Json = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise NotJsonError(f"the JSON is truncated: {_worded(error)}", error.pos) from None
        raise NotJsonError(f"invalid JSON: {_worded(error)}", error.pos) from None
    except RecursionError:
        raise NotJsonError("the JSON is nested too deeply") from None
    return value


def _worded(error: json.JSONDecodeError) -> str:
    where = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
    reason = error.msg.removesuffix(" at")
    return f"{reason[:1].lower()}{reason[1:]} at {where}"


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else Decimal(digits)


def _row(unit: str, record: Line | Element) -> Row | Skipped:
    try:
        value = parse_json_bytes(record.raw)
    except NotJsonError as error:
        return Skipped(f"{unit} {record.number}", str(error), error.offset)
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return Row(unit, record.number, {"messages": value}, record.raw)
    if not isinstance(value, dict):
        return Skipped(f"{unit} {record.number}", f"expected an object, found {kind_of_json(value)}")
    return Row(unit, record.number, value, record.raw)


def kind_of_json(value: Json) -> str:
    """What kind of JSON value this is, in words."""
    return _KINDS.get(type(value), "a number")


def _is_one_value(raw: bytes) -> bool:
    """Whether bytes are one JSON value; strings are not looked into."""
    try:
        _passed_over(raw)
    except (ValueError, RecursionError):
        return False
    return True


_passed_over = msgspec.json.Decoder(msgspec.Raw).decode


def _is_json(line: bytes) -> bool:
    try:
        parse_json_bytes(line)
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


class PositionCounter:
    """Reads a stream up to a byte and counts lines and columns."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._offset = 0
        self.line, self.column = 1, 1

    def at(self, offset: int) -> tuple[int, int]:
        """The line and column of a byte, which must not be before the previous one."""
        while self._offset < offset and (block := self._stream.read(min(_BLOCK, offset - self._offset))):
            self.take(block)
        return self.line, self.column

    def take(self, block: bytes) -> None:
        """Count the lines and columns of these bytes."""
        self._offset += len(block)
        _, feed, tail = block.rpartition(b"\n")
        if feed:
            self.line += block.count(b"\n")
            self.column = 1
        self.column += sum(byte & 0xC0 != 0x80 for byte in tail)  # first bytes of UTF-8 characters
