"""The lines and records of a log, read a second time to show where in the file something is."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from typing import BinaryIO

from inspector.importers.elements import Element, read_elements
from inspector.importers.har_container import open_har
from inspector.importers.lines import Line, read_lines
from inspector.importers.packing import DamagedDataError
from inspector.importers.rows import layout_of
from inspector.importers.source import Skipped, SourceFile
from inspector.importers.unread import unread_record
from inspector.memory import RECORD_BYTES
from inspector.model import Trace
from inspector.redaction.finding import Finder
from inspector.text import LineIndex, Range, decode
from ui.reports.check_fingerprints import unread_fingerprint
from ui.reports.check_places import FilePlace, line_number
from ui.reports.check_report import Unread

_BOM = "\ufeff"
_BLOCK = 1 << 16
_RECORD = re.compile(r"(line|entry|document) (\d+)\b")
_END = "end of file"
_END_BYTES = 4_096
_SHOWN = 2_000


class RecordLines:
    """Reads a file a second time, forwards and only as far as it must; a packed one, whose lines nobody sees, not."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._stream: BinaryIO | None = None
        self._number = 0

    def of(self, trace: Trace) -> str | None:
        """The line that the trace's record names, without a byte order mark; None where it names none further on."""
        number = line_number(trace)
        if number is None or number <= self._number:
            return None
        stream = self._stream = self._stream or self._opened()
        line = b""
        while stream is not None and self._number < number:
            line = stream.readline(RECORD_BYTES)
            if not line:
                return None
            if line.endswith(b"\n") or len(line) < RECORD_BYTES:
                self._number += 1
        return decode(line).removeprefix(_BOM if number == 1 else "").rstrip("\r\n") if stream is not None else None

    def close(self) -> None:
        """Nothing is asked for any more."""
        if self._stream is not None:
            self._stream.close()

    def _opened(self) -> BinaryIO | None:
        try:
            return None if self._file.packing else self._file.open()
        except OSError:
            return None


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    column: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class RecordText:
    """A record of a text file: the line and column where it begins, both from 1, and the text's beginning."""

    line: int
    column: int
    text: str


def unread_of(path: str, skipped: Skipped, found: RecordText | None) -> Unread:
    """A record of a file that was skipped, as a finding; `found` is its text where the file has lines."""
    text = found.text if found is not None else ""
    if skipped.record == _END:
        skipped = replace(skipped, offset=len(text))
    fault = unread_record(skipped, text)
    if found is None and skipped.start is not None:
        message = f"{fault.message.removesuffix('.')} (it begins at byte {skipped.start:,} of the content)."
        fault = replace(fault, message=message)
    start = max(fault.range.start - _SHOWN, 0)
    place = _file_place(found, fault.range) if found is not None else None
    return Unread(
        path,
        skipped.record,
        fault,
        text[start : fault.range.end + _SHOWN],
        start,
        place,
        unread_fingerprint(fault.rule.code, f"{skipped.record}: {skipped.reason}", text),
    )


def _file_place(found: RecordText, within: Range) -> FilePlace:
    lines = LineIndex(found.text)
    corners = [lines.position(at) for at in (within.start, within.end)]
    (line, column), (end_line, end_column) = (
        (found.line + line - 1, column + (found.column - 1 if line == 1 else 0)) for line, column in corners
    )
    return FilePlace(line, column, end_line, end_column)


class AdjoiningTexts:
    """Looks for secrets in lines that could not be read, as they follow each other.

    Lines that are no records may be pieces of one text: the name of a secret is in the first, its value in the second.
    """

    def __init__(self) -> None:
        self._finder = Finder()
        self._next = ""

    def is_clean(self, record: str, text: str) -> bool:
        """Whether no part of a secret is in the text of a record, which may begin in the line before."""
        if record != self._next:
            self._finder = Finder()
        found = self._finder.feed(f"{text}\n")
        found += copy(self._finder).feed("", is_final=True)
        named = _RECORD.match(record)
        self._next = f"{named[1]} {int(named[2]) + 1}" if named else ""
        return not found


class RecordTexts:
    """Finds the records of a file by the words that a Skipped has for them, forwards: each record once, in order.

    Lines and columns are those of the unpacked text. One record at a time is in memory.
    """

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._records: Iterator[tuple[int, _Record]] | None = None
        self._unit = ""
        self._number = 0
        self._opened = ExitStack()
        self._document: tuple[_Window, _Place] | None = None

    def close(self) -> None:
        """Nothing is looked for any more."""
        self._opened.close()

    def find(self, skipped: Skipped) -> RecordText | None:
        """The record up to a little behind its fault, or the end of the file.

        None where the file has no such records, or is past this one.
        """
        try:
            if skipped.record == _END:
                return _end_of(self._file)
            named = _RECORD.match(skipped.record)
            if skipped.start is not None:
                if named is None:
                    return None
                return self._at(skipped.start, skipped.offset + _SHOWN)
            return self._find(named[1], int(named[2]), skipped.offset + _SHOWN) if named else None
        except OSError:
            return None

    def _at(self, start: int, length: int) -> RecordText | None:
        """The text from a byte of a HAR document on, which is not before the one that was asked for last."""
        if self._document is None:
            stream, again = (self._opened.enter_context(open_har(self._file)).stream for _ in range(2))
            self._document = _Window(stream), _Place(again)
        window, place = self._document
        line, column = place.at(start)
        return RecordText(line, column, decode(window.at(start, length * 4)))

    def _find(self, unit: str, number: int, length: int) -> RecordText | None:
        if self._records is None:
            self._unit = layout_of(self._file.head)
            self._records = _numbered(self._file, self._unit)
        if unit != self._unit or number <= self._number:
            return None
        for at, found in self._records:
            self._number = at
            if at >= number:
                return RecordText(found.line, found.column, decode(found.raw[: length * 4])) if at == number else None
        return None


def _numbered(file: SourceFile, unit: str) -> Iterator[tuple[int, _Record]]:
    """The records with their numbers; of one beyond the bound of records only the place."""
    with file.open() as stream, file.open() as again:
        place = _Place(again)
        for record in read_lines(stream) if unit == "line" else read_elements(stream):
            match record:
                case Line(number, raw):
                    yield number, _Record(number, 1, raw)
                case Element(number, raw, offset):
                    yield number, _Record(*place.at(offset), raw)
                case _ if (named := _RECORD.match(record.record)) and named[1] == "line":
                    yield int(named[2]), _Record(int(named[2]), 1, b"")


class _Window:
    """Pieces of a stream by their places, forwards."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = 0
        self._held = b""

    def at(self, start: int, length: int) -> bytes:
        """At most so many bytes from a place on, which is not before the last one."""
        while self._start + len(self._held) < start + length and (block := self._stream.read(_BLOCK)):
            passed = max(start - self._start, 0)
            self._start += min(passed, len(self._held))
            self._held = self._held[passed:] + block
        self._held = self._held[start - self._start :]
        self._start = start
        return self._held[:length]


class _Place:
    """Counts lines and columns while it reads a stream up to some byte."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._offset = 0
        self.line, self.column = 1, 1

    def at(self, offset: int) -> tuple[int, int]:
        """The line and column of a byte, which lies not before the last one."""
        while self._offset < offset and (block := self._stream.read(min(_BLOCK, offset - self._offset))):
            self.take(block)
        return self.line, self.column

    def take(self, block: bytes) -> None:
        """Go on behind these bytes."""
        self._offset += len(block)
        _, feed, tail = block.rpartition(b"\n")
        if feed:
            self.line += block.count(b"\n")
            self.column = 1
        self.column += sum(byte & 0xC0 != 0x80 for byte in tail)  # bytes that begin a character of UTF-8


def _end_of(file: SourceFile) -> RecordText | None:
    """The end of what can be read: its line and column, and the last piece of that line."""
    tail = b""
    with file.open() as stream:
        place = _Place(stream)
        try:
            while block := stream.read(_BLOCK):
                place.take(block)
                tail = (tail + block)[-_END_BYTES:]
        except DamagedDataError:
            pass
    if b"\0" in tail:
        return None
    text = decode(tail.rstrip(b"\r\n").rpartition(b"\n")[2])
    if tail.endswith(b"\n"):
        return RecordText(place.line - 1, 1, text) if len(text) < _END_BYTES else RecordText(place.line - 1, 1, "")
    return RecordText(place.line, max(place.column - len(text), 1), text)
