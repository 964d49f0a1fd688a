"""The elements of a JSON array, or JSON documents one after another, cut out of a stream without parsing them.

A cut is where brackets outside of strings balance, so each element is in memory alone, and one that is broken within
takes none of its neighbours along.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from inspector.importers.lines import too_long
from inspector.importers.source import Skipped
from inspector.memory import RECORD_BYTES
from inspector.scanning import closing_quote

BEHIND_THE_ARRAY = Skipped("end of file", "more text follows behind the array")
"""What comes last where a file does not end with its array, as it does not where the array is a member of something."""

_BLOCK = 1 << 16
_NOT_BLANK = re.compile(rb"[^ \t\r\n\xef\xbb\xbf]")  # a byte order mark counts as blank
_BRACKETS = re.compile(rb'[\[\]{}"]')
_BRACKETS_AND_COMMAS = re.compile(rb'[\[\]{},"]')
_DEPTH = {b"[": 1, b"{": 1, b"]": -1, b"}": -1, b",": 0}
_ENTRY_ENDS = {b",": b",", b"]": b"]", b"}": b"]"}


@dataclass(frozen=True, slots=True)
class Element:
    """The exact bytes of one element; `number` counts from 1, `offset` is its first byte's place in the stream."""

    number: int
    raw: bytes
    offset: int


def read_elements(stream: BinaryIO, *, limit: int = RECORD_BYTES) -> Iterator[Element | Skipped]:
    """The elements of a file that is one JSON array (`entry N`), or its documents where it is none (`document N`).

    Little more than twice the longest element is in memory. One of more than `limit` bytes ends the reading with a
    Skipped that says so.
    """
    cutter = _Cutter(stream, limit)
    if cutter.skip_blank() == b"[":
        return cutter.entries()
    return cutter.documents()


class _TooLongError(Exception):
    pass


class _Cutter:
    """Holds bytes of the stream: the current element begins at `_start`, and `_at` is how far it was looked at.

    `_base` is the place in the stream of the first byte that is held.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._held = b""
        self._start = self._at = self._base = 0
        self._ended = False

    def skip_blank(self) -> bytes:
        """Go to the next byte that is not blank, and give it; `b""` at the end of the stream."""
        while True:
            found = _NOT_BLANK.search(self._held, self._at)
            self._start = self._at = found.start() if found else len(self._held)
            if found or not self._read_more():
                return found[0] if found else b""

    def entries(self) -> Iterator[Element | Skipped]:
        """The entries of the array whose bracket comes next."""
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
                yield Element(number, raw, self._base + self._held.index(raw[:1], self._start))
            elif end == b",":
                yield Skipped(f"entry {number}", "nothing stands here")
        if not end:
            yield Skipped("end of file", "the array is not closed: the file may have been cut off")
        elif self.skip_blank():
            yield BEHIND_THE_ARRAY

    def documents(self) -> Iterator[Element | Skipped]:
        """Everything, cut where brackets balance."""
        number = 0
        while self.skip_blank():
            number += 1
            try:
                raw = self._to_the_balance()
            except _TooLongError:
                yield self._too_long(f"document {number}")
                return
            yield Element(number, raw, self._base + self._start)

    def _to_the_comma(self) -> tuple[bytes, bytes]:
        """An entry's bytes and what ends it: a comma, the array's bracket, or `b""` for the end of the stream."""
        depth = 0
        while (token := self._next(_BRACKETS if depth else _BRACKETS_AND_COMMAS)) is not None:
            if depth == 0 and token in _ENTRY_ENDS:
                return self._held[self._start : self._at - 1].strip(), _ENTRY_ENDS[token]
            depth += _DEPTH[token]
        return self._held[self._start :].strip(), b""

    def _to_the_balance(self) -> bytes:
        depth = 0
        while (token := self._next(_BRACKETS)) is not None:
            depth += _DEPTH[token]
            if depth <= 0:
                return self._held[self._start : self._at]
        return self._held[self._start :].strip()

    def _next(self, pattern: re.Pattern[bytes]) -> bytes | None:
        """The next bracket or comma outside of strings, with `_at` behind it; None at the end of the stream."""
        while True:
            found = pattern.search(self._held, self._at)
            if found is None:
                self._at = len(self._held)
            elif found[0] != b'"':
                self._at = found.end()
                return found[0]
            elif (last := closing_quote(self._held, b'"', found.end(), len(self._held))) >= 0:
                self._at = last + 1
                continue
            else:  # a string that goes on beyond what is held
                self._at = found.start()
            if not self._read_more():
                self._at = len(self._held)
                return None

    def _read_more(self) -> bool:
        """Read at least as much as is held of this element: looking again at a long string costs no more than twice."""
        length = len(self._held) - self._start
        if length > self._limit:
            raise _TooLongError
        block = b"" if self._ended else self._stream.read(max(_BLOCK, length))
        self._ended = not block
        self._held = self._held[self._start :] + block
        self._base += self._start
        self._at -= self._start
        self._start = 0
        return bool(block)

    def _too_long(self, record: str) -> Skipped:
        return Skipped(record, f"{too_long(self._limit)}; what follows it was not read")
