"""Copies a file byte for byte but for single records: lines, or the values of a JSON file."""

import re
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from inspector.importers.elements import read_elements
from inspector.importers.rows import layout_of
from inspector.importers.source import Skipped, SourceFile

_BOM = b"\xef\xbb\xbf"
_RECORD = re.compile(r"(line|entry|document) (\d+)")


class RecordCopy(Protocol):
    """A copy under way. Records are asked for in the order of the file; what lies between them is copied as it is."""

    def find(self, record: str) -> bytes | None:
        """The bytes of a record (`line 3`), up to which everything is copied now; None where it is none of those left.

        `put` must follow where it is found.
        """
        ...

    def put(self, raw: bytes) -> None:
        """These bytes stand for the record that was found."""
        ...

    def close(self) -> None:
        """Copy the rest."""
        ...


def copy_records(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """A copy of a JSON file to `out`. A file that is no lines is wholly in memory."""
    if layout_of(file.head) == "line":
        return _NumberedLines(file.open(), out)
    return _Elements(file, out)


def copy_text(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """A copy of a file that is one text, the record `file`."""
    return _Text(file, out)


class _Text:
    """Nothing is copied until it is known whether it is repaired."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        with file.open() as stream:
            self._content = stream.read()
        self._out = out

    def find(self, record: str) -> bytes | None:
        return self._content if record == "file" else None

    def put(self, raw: bytes) -> None:
        self._content = raw

    def close(self) -> None:
        self._out.write(self._content)


class _NumberedLines:
    """Numbered as `inspector.importers.lines` numbers them: blank lines count."""

    def __init__(self, stream: BinaryIO, out: BinaryIO) -> None:
        self._stream, self._out = stream, out
        self._number = 0

    def find(self, record: str) -> bytes | None:
        number = _number(record, "line")
        if number is None or number <= self._number:
            return None
        line = b""
        while self._number < number:
            self._out.write(line)
            self._number += 1
            line = self._stream.readline()
        raw = line.removeprefix(_BOM) if number == 1 else line
        self._out.write(line[: len(line) - len(raw)])
        content = raw.rstrip(b"\r\n")
        self._ending = raw[len(content) :]
        return content

    def put(self, raw: bytes) -> None:
        self._out.write(raw + self._ending)

    def close(self) -> None:
        while block := self._stream.read(1 << 20):
            self._out.write(block)
        self._stream.close()


class _Elements:
    """Each element is searched for behind the one before it: they come in order, with their exact bytes."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        self._out, self._at = out, 0
        with file.open() as stream:
            self._content = stream.read()
        self._unit = layout_of(file.head)
        self._places = self._placed(file)
        self._number = 0

    def find(self, record: str) -> bytes | None:
        number = _number(record, self._unit)
        if number is None or number <= self._number:
            return None
        for at, start, end in self._places:
            self._number = at
            if at == number:
                self._out.write(self._content[self._at : start])
                self._at = end
                return self._content[start:end]
        return None

    def put(self, raw: bytes) -> None:
        self._out.write(raw)

    def close(self) -> None:
        self._out.write(self._content[self._at :])

    def _placed(self, file: SourceFile) -> Iterator[tuple[int, int, int]]:
        at = 0
        with file.open() as stream:
            for element in read_elements(stream):
                if isinstance(element, Skipped):
                    continue
                start = self._content.find(element.raw, at)
                if start < 0:
                    return
                at = start + len(element.raw)
                yield element.number, start, at


def _number(record: str, unit: str) -> int | None:
    match = _RECORD.fullmatch(record)
    return int(match[2]) if match is not None and match[1] == unit else None
