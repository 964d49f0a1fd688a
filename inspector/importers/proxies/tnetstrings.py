"""Reads tnetstrings, of which mitmproxy's files consist: each value is its length, a colon, its payload and a type tag.

    14:4:type;4:http;}        the dictionary {"type": "http"}: texts are `;`, bytes `,`, integers `#`, floats `^`

A value is parsed when it is looked into, so a flow costs what is read of it. Source: mitmproxy,
mitmproxy/io/tnetstring.py.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import BinaryIO, Final

from msgspec import Struct

from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.memory import RECORD_BYTES, too_long
from weaklink.inspector.text import decode

_MAX_DIGITS = 12
_BLOCK = 1 << 20
_CUT = "the file ends in the middle of this flow"
_NO_FLOW = "not a flow: the file is damaged, or several programs wrote it at once; the rest was not read"
_LENGTH = re.compile(rb"(\d{1,12}):")
_KINDS: Final = {
    b",": "bytes",
    b";": "a string",
    b"#": "an integer",
    b"^": "a number",
    b"!": "a boolean",
    b"~": "null",
    b"}": "a dictionary",
    b"]": "a list",
}

_QUOTED = 20
MAX_ENTRIES = 10_000
"""The most entries of a dictionary or list that are read: no flow has so many, and each costs more than its bytes."""


class StoredFlow(Struct, frozen=True):
    """A flow's number from 1, the position of its first byte, and its bytes: a dictionary, with length and type tag."""

    number: int
    start: int
    raw: bytes


def read_flows(stream: BinaryIO, *, limit: int = RECORD_BYTES) -> Iterator[StoredFlow | Skipped]:
    """The flows of a file, which are consecutive tnetstrings; a flow of more than `limit` bytes is a Skipped.

    After bytes that begin no flow, no other flow can be found, so the file ends there.
    """
    start = 0
    for number in count(1):
        prefix = _length_prefix(stream)
        if not prefix:
            return
        length = _LENGTH.fullmatch(prefix)
        if length is None:
            is_cut = prefix.isdigit() and len(prefix) <= _MAX_DIGITS
            yield Skipped(f"flow {number}", _CUT if is_cut else _NO_FLOW, start=start)
            return
        left = int(length[1]) + 1  # the type tag follows
        if left > limit + 1:
            yield Skipped(f"flow {number}", too_long(limit), start=start)
            while left and (block := stream.read(min(left, _BLOCK))):
                left -= len(block)
        else:
            raw = prefix + stream.read(left)
            if len(raw) < len(prefix) + left:
                yield Skipped(f"flow {number}", f"{_CUT} ({len(raw)} of {len(prefix) + left} bytes)", start=start)
                stream.read(1)  # raises if compressed data is damaged here
                return
            yield StoredFlow(number, start, raw)
        start += len(prefix) + int(length[1]) + 1


def _length_prefix(stream: BinaryIO) -> bytes:
    """The digits up to the colon, or as many bytes as show that there is no length."""
    prefix = b""
    while len(prefix) <= _MAX_DIGITS and not prefix.endswith(b":") and (byte := stream.read(1)):
        prefix += byte
    return prefix


class MalformedValueError(ValueError):
    """The bytes are not a tnetstring, or not of the expected kind; the message gives the reason."""


class TnetString(Struct, frozen=True):
    """One value: its payload is `raw[start:end]`, `kind` the type tag after it. The payload is not parsed yet."""

    raw: bytes
    start: int
    end: int
    kind: bytes

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self.kind == b"~"

    def payload(self) -> bytes:
        """The bytes of a value that is bytes or a text."""
        self._must_be(b",", b";")
        return self.raw[self.start : self.end]

    def text(self) -> str:
        """The payload as text."""
        return decode(self.payload())

    def number(self) -> float:
        """A finite integer or float."""
        self._must_be(b"#", b"^")
        try:
            number = float(self.raw[self.start : min(self.end, self.start + 64)])
        except ValueError:
            number = float("inf")
        if not -1e300 < number < 1e300:
            raise MalformedValueError(f"{_KINDS[self.kind]} at byte {self.start} is invalid or out of range")
        return number

    def entries(self) -> "list[TnetString]":
        """The entries of a list, at most `MAX_ENTRIES`."""
        self._must_be(b"]")
        return self._within()

    def members(self) -> "dict[str, TnetString]":
        """The members of a dictionary, at most half of `MAX_ENTRIES`; the last of several with the same name."""
        self._must_be(b"}")
        strings = self._within()
        if len(strings) % 2:
            raise MalformedValueError(f"the dictionary at byte {self.start} ends with a key that has no value")
        return {key.text(): value for key, value in zip(strings[::2], strings[1::2], strict=True)}

    def _within(self) -> "list[TnetString]":
        strings: list[TnetString] = []
        at = self.start
        while at < self.end:
            if len(strings) == MAX_ENTRIES:
                raise MalformedValueError(f"{_KINDS[self.kind]} has more than {MAX_ENTRIES} entries")
            strings.append(value_at(self.raw, at, self.end))
            at = strings[-1].end + 1
        return strings

    def _must_be(self, *kinds: bytes) -> None:
        if self.kind not in kinds:
            raise MalformedValueError(f"found {_KINDS[self.kind]} at byte {self.start}, expected {_KINDS[kinds[0]]}")


def value_at(raw: bytes, at: int, end: int) -> TnetString:
    """The value that begins at `at` and ends before `end`; MalformedValueError if there is none."""
    length = _LENGTH.match(raw, at, end)
    if length is None:
        found = decode(raw[at : min(at + _QUOTED, end)])
        raise MalformedValueError(f"expected a length at byte {at}, found {found!r}")
    start, stop = length.end(), length.end() + int(length[1])
    kind = raw[stop : stop + 1]
    if stop >= end or kind not in _KINDS:
        raise MalformedValueError(f"the value at byte {at} does not match its length")
    return TnetString(raw, start, stop, kind)
