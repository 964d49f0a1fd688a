"""The bytes of a stream, kept so that they can be read several times."""

import io
from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import BinaryIO, Protocol, Self

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
        return io.BufferedReader(_HeldReader(self._spool, self.size_bytes), _BLOCK)

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


class _HeldReader(io.RawIOBase):
    """Reads a spool of full blocks from any position."""

    def __init__(self, spool: RecordSpool, size_bytes: int) -> None:
        self._spool = spool
        self._size = size_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("negative seek position")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name is private
        start = self._at - self._at % _BLOCK
        if start >= self._size:
            return 0
        place = start, min(_BLOCK, self._size - start)
        piece = self._spool.take(place)[self._at - start :][: len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
