"""A file's lines as bytes, numbered, each within a bound however long the file has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from inspector.importers.source import Skipped
from inspector.memory import RECORD_BYTES

_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line feed; `number` counts from 1."""

    number: int
    raw: bytes


def read_lines(stream: BinaryIO, *, limit: int = RECORD_BYTES) -> Iterator[Line | Skipped]:
    """The lines of a stream that are not blank; only a line feed ends a line. A byte order mark is taken off.

    A line of more than `limit` bytes is a Skipped; no more than `limit` bytes of it, and a block, are in memory.
    """
    number = 0
    block = min(_BLOCK, limit + 1)
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


def too_long(limit: int) -> str:
    """Why a record beyond the bound is skipped."""
    return f"it is longer than {limit >> 20} MiB" if limit >= 1 << 20 else f"it is longer than {limit} bytes"


def _long_line(first: bytes, stream: BinaryIO, limit: int) -> bytes | None:
    """All of a line that goes on behind its first block; None, having read past it, where it is too long."""
    blocks, left = [first], limit - len(first)
    while not blocks[-1].endswith(b"\n") and (block := stream.readline(_BLOCK)):
        blocks.append(block)
        left -= len(block) - block.endswith(b"\n")
        if left < 0:
            del blocks[:-1]
    return b"".join(blocks) if left >= 0 else None
