"""Binary streams over what is no file of its own: blocks of bytes one after another, and bytes that lie elsewhere.

Both are raw streams; `io.BufferedReader` makes lines and large reads of them.
"""

import io
from collections.abc import Callable, Iterator


class BlockStream(io.RawIOBase):
    """Blocks of bytes as a stream, each requested when it is read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = memoryview(b"")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name is private
        """The next bytes, at most one block."""
        while not self._block and (block := next(self._blocks, None)) is not None:
            self._block = memoryview(block)
        count = min(len(buffer), len(self._block))
        buffer[:count] = self._block[:count]
        self._block = self._block[count:]
        return count


class SeekableStream(io.RawIOBase):
    """`size_bytes` bytes as a stream that can seek.

    `read_at(position, count)` returns at least one byte from a position on, and at most `count`; the position is before
    the end. `close_source` is called when the stream is closed.
    """

    def __init__(
        self, size_bytes: int, read_at: Callable[[int, int], bytes], close_source: Callable[[], None] | None = None
    ) -> None:
        self._size_bytes, self._read_at, self._close_source = size_bytes, read_at, close_source
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position from which the next bytes come."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move, also beyond the end. OSError for a negative position."""
        position = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence] + offset
        if position < 0:
            raise OSError("negative seek position")
        self._position = position
        return position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's name is private
        """The next bytes, as many as `read_at` returns at once."""
        count = min(len(buffer), self._size_bytes - self._position)
        block = self._read_at(self._position, count) if count > 0 else b""
        buffer[: len(block)] = block
        self._position += len(block)
        return len(block)

    def close(self) -> None:
        """Close the stream, and what it reads from."""
        if not self.closed and self._close_source is not None:
            self._close_source()
        super().close()
