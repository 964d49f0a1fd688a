"""A file's lines as bytes, numbered, each within a bound however long the file has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from inspector.importers.source import Skipped

RECORD_BYTES = 256 * 1024 * 1024
"""The longest record that is read; a longer one is skipped, and read past in blocks."""

_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line feed; `number` counts from 1."""

    number: int
    raw: bytes


def read_lines(stream: BinaryIO, *, limit: int = RECORD_BYTES) -> Iterator[Line | Skipped]:
    """The lines of a stream that are not blank; only a line feed ends a line. A byte order mark is taken off.

    A line of more than `limit` bytes is a Skipped; no more than `limit` bytes are in memory at once.
    """
    number = 0
    while raw := stream.readline(limit + 1):
        number += 1
        if len(raw) > limit and not raw.endswith(b"\n"):
            _read_past(stream)
            yield Skipped(f"line {number}", too_long(limit))
            continue
        raw = raw.removeprefix(_BOM) if number == 1 else raw
        if raw.strip():
            yield Line(number, raw.rstrip(b"\r\n"))


def too_long(limit: int) -> str:
    """Why a record beyond the bound is skipped."""
    return f"it is longer than {limit >> 20} MiB" if limit >= 1 << 20 else f"it is longer than {limit} bytes"


def _read_past(stream: BinaryIO) -> None:
    while (block := stream.readline(_BLOCK)) and not block.endswith(b"\n"):
        pass
