"""The bytes of a stream, kept so that they can be read several times."""

import io
from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from weaklink.inspector.importers.streams import SeekableStream
from weaklink.inspector.spool import RecordSpool

MEMORY_BYTES = 32 << 20
"""How much of a content is kept in memory; the rest is in a temporary file without a name."""

_BLOCK = 1 << 16


class FileContent(Protocol):
    """Bytes that can be read several times, wherever they are."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes."""
        ...

    def open(self) -> io.BufferedReader:
        """The bytes from the beginning, as a separate stream that can seek."""
        ...


class HeldContent:
    """All bytes of a stream: standard input, an upload, an unpacked archive.

    Beyond `memory_bytes`, they are in a temporary file without a name (see `RecordSpool`). `size_bytes` is their
    number. A context manager that discards the bytes at its end. Not thread-safe.
    """

    def __init__(self, stream: BinaryIO, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._spool = RecordSpool(memory_bytes)
        self.size_bytes = 0
        for block in _full_blocks(stream):
            self._spool.put(block)
            self.size_bytes += len(block)

    def open(self) -> io.BufferedReader:
        """The bytes from the beginning, as a separate stream that can seek."""
        return io.BufferedReader(SeekableStream(self.size_bytes, self._read_at), _BLOCK)

    def _read_at(self, position: int, count: int) -> bytes:
        start = position - position % _BLOCK
        block = self._spool.get((start, min(_BLOCK, self.size_bytes - start)))
        return block[position - start :][:count]

    def close(self) -> None:
        """Discard the bytes; nothing can be read afterwards."""
        self._spool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _full_blocks(stream: BinaryIO) -> Iterable[bytes]:
    """The stream in blocks of `_BLOCK` bytes, only the last of which may be shorter."""
    block = b""
    for piece in iter(partial(stream.read, _BLOCK), b""):
        block += piece  # a read from a pipe may return less than requested
        if len(block) >= _BLOCK:
            yield block[:_BLOCK]
            block = block[_BLOCK:]
    if block:
        yield block
