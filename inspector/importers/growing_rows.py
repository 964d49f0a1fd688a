"""Reads a file of lines on from where it was read to, while `watch` imports a session that grows.

    lines 1 to 9,000   RowReader.add(row) each, then end(): the traces so far
    line 9,001         the same reader, while `memoizing`: add(row), then end() again

A reader is kept with the size and the hash of what it has read. If the file does not begin with these bytes any more
(it was rewritten, or restored), or if its last line had no end, a new reader reads it from the beginning. Other files
(compressed, arrays, streams, blocks) and every import that reads a file once are read from the beginning, too.

At 12.5 MB reading took 0.37 s of the 1.17 s of CPU time of a new line, and hashing the known bytes takes 0.01 s
(8,665 lines of Claude Code, 2026-11-30).
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from io import BufferedReader
from typing import Protocol

from msgspec import Struct

from weaklink.inspector.importers.records import Row, layout_of, read_rows, rows_of_lines
from weaklink.inspector.importers.source import Skipped, SourceFile
from weaklink.inspector.memoized import RecentValues, is_memoizing
from weaklink.inspector.model import Trace

_BLOCK = 1 << 20


class RowReader(Protocol):
    """Makes traces of a file's rows. `is_full` is true once it takes no more rows."""

    @property
    def is_full(self) -> bool:
        """Whether all further rows are left out."""
        ...

    def add(self, row: Row | Skipped) -> Iterable[Trace | Skipped]:
        """Add a row; returns what is complete now."""
        ...

    def end(self) -> Iterable[Trace | Skipped]:
        """What the rows so far are; more may follow, so nothing that was added may be changed."""
        ...


class _ReadRows(Struct, frozen=True):
    """A reader, how much it has read, and what `add` returned."""

    reader: RowReader
    size_bytes: int
    lines: int
    digest: bytes
    completed: list[Trace | Skipped]


_known: RecentValues[_ReadRows] = RecentValues()


def read_growing(file: SourceFile, begin: Callable[[SourceFile], RowReader]) -> Iterator[Trace | Skipped]:
    """The traces of a file, of a reader that `begin` returns; the same function for the same kind of files."""
    if not _may_grow(file):
        reader = begin(file)
        yield from _completed(reader, read_rows(file))
        yield from reader.end()
        return
    place = (begin, file.name, str(file.path))
    known = _known.remove(place)  # it may be half read until its end
    with file.open() as stream:
        lines = _HashedLines(stream)
        if known is not None and lines.skip(known.size_bytes) == known.digest:
            yield from known.completed
            yield from _read_on(known, lines, place)
            return
    with file.open() as stream:
        yield from _read_on(_ReadRows(begin(file), 0, 0, b"", []), _HashedLines(stream), place)


def _read_on(known: _ReadRows, lines: "_HashedLines", place: Hashable) -> Iterator[Trace | Skipped]:
    completed = list(known.completed)
    for record in _completed(known.reader, rows_of_lines(lines, known.lines)):
        completed.append(record)
        yield record
    yield from known.reader.end()
    if lines.is_whole:
        number = known.lines + lines.count
        _known.put(place, _ReadRows(known.reader, lines.size_bytes, number, lines.digest(), completed))


def _completed(reader: RowReader, rows: Iterable[Row | Skipped]) -> Iterator[Trace | Skipped]:
    rows = iter(rows)
    while not reader.is_full and (row := next(rows, None)) is not None:
        yield from reader.add(row)


def _may_grow(file: SourceFile) -> bool:
    is_whole = file.content is None and file.numbering is None and not file.packing
    return is_memoizing() and is_whole and layout_of(file.head) == "line"


class _HashedLines:
    """The lines of a stream, with the hash, size and number of those that were read."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size_bytes = self.count = 0
        self.is_whole = True

    def skip(self, size_bytes: int) -> bytes:
        """Read so many bytes, and return the hash of all so far."""
        while self.size_bytes < size_bytes and (block := self._stream.read(min(size_bytes - self.size_bytes, _BLOCK))):
            self._hash.update(block)
            self.size_bytes += len(block)
        return self.digest()

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line, or the first `limit` bytes of it."""
        line = self._stream.readline(limit)
        if line:
            self._hash.update(line)
            self.size_bytes += len(line)
            self.is_whole = line.endswith(b"\n")
            self.count += self.is_whole
        return line

    def digest(self) -> bytes:
        """The hash of all that was read."""
        return self._hash.digest()
