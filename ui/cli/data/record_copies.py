"""Copies of files in which single records are replaced; everything between them stays unchanged."""

import re
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from weaklink.inspector.importers.records import layout_of, read_elements
from weaklink.inspector.importers.source import Skipped, SourceFile

_BOM = b"\xef\xbb\xbf"
_RECORD = re.compile(r"(line|entry|document) (\d+)")


class RecordCopy(Protocol):
    """A copy in progress. Callers find records in file order; everything between them is copied unchanged."""

    def find(self, record: str) -> bytes | None:
        """Copy everything before a record (`line 3`), and return its bytes; None if no remaining record has the name.

        If the record is found, call `put` next.
        """
        ...

    def put(self, raw: bytes) -> bool:
        """Write these bytes in place of the record that was found; False if they cannot be, and the record stays."""
        ...

    def close(self) -> None:
        """Copy the rest."""
        ...


def copy_records(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """Begin a copy of a JSON file to `out`. A file that is not JSON lines is held in memory."""
    if layout_of(file.head) == "line":
        return _NumberedLines(file.open(), out)
    return _ElementCopy(file, out)


def copy_text(file: SourceFile, out: BinaryIO) -> RecordCopy:
    """Begin a copy of a file that is one text; its only record is `file`."""
    return _TextCopy(file, out)


class _TextCopy:
    """Writes the whole text when it is closed."""

    def __init__(self, file: SourceFile, out: BinaryIO) -> None:
        with file.open() as stream:
            self._content = stream.read()
        self._out = out

    def find(self, record: str) -> bytes | None:
        return self._content if record == "file" else None

    def put(self, raw: bytes) -> bool:
        self._content = raw
        return True

    def close(self) -> None:
        self._out.write(self._content)


class _NumberedLines:
    """Copies lines, numbered as by `inspector.importers.records`: blank lines count."""

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

    def put(self, raw: bytes) -> bool:
        self._out.write(raw + self._ending)
        return True

    def close(self) -> None:
        while block := self._stream.read(1 << 20):
            self._out.write(block)
        self._stream.close()


class _ElementCopy:
    """Copies elements. Each is searched for after the previous one: they come in order, with their exact bytes."""

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

    def put(self, raw: bytes) -> bool:
        self._out.write(raw)
        return True

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
