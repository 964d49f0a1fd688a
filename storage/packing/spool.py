"""Bytes that shall take little memory: beyond some megabytes in a file without a name, which its last reader ends."""

import io
import math
from collections.abc import Callable, Iterable
from functools import partial
from tempfile import TemporaryFile
from threading import Lock
from typing import BinaryIO
from weakref import finalize

_ROOM = 4 << 20
_PIECE = 1 << 18

Read = Callable[[int, int], bytes]
"""Gives the bytes from an offset on, so many of them or as many as there are."""


class Spool:
    """Holds bytes for random reading, in memory up to `room` of them; several threads may read.

    All of them stay in memory where no disk takes them.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self._lock = Lock()
        self._file: BinaryIO = io.BytesIO()
        self._room: float = room
        self._size = 0

    def add(self, pieces: Iterable[bytes], size: int) -> Read:
        """Take so many bytes, in pieces, and read in them alone. What the pieces raise comes through."""
        begin = self._begin(size)
        for piece in pieces:
            self._append(piece)
        return partial(self._read, begin)

    def append(self, piece: bytes) -> int:
        """Take some bytes; where they begin among all that were taken."""
        begin = self._begin(len(piece))
        self._append(piece)
        return begin

    def read(self, start: int, size: int) -> bytes:
        """So many bytes from there on, counted from the first that was taken."""
        return self._read(0, start, size)

    def _begin(self, size: int) -> int:
        """Where so many bytes will begin."""
        if self._size + size > self._room:
            self._room = math.inf  # the disk is asked once
            self._move(TemporaryFile)
        return self._size

    def _read(self, begin: int, start: int, size: int) -> bytes:
        with self._lock:
            self._file.seek(begin + start)
            return self._file.read(size)

    def _append(self, piece: bytes) -> None:
        self._file.seek(self._size)
        try:
            _write(self._file, piece)
        except OSError:
            self._move(lambda **_: io.BytesIO())
            self._file.seek(self._size)
            self._file.write(piece)
        self._size += len(piece)

    def _move(self, new: Callable[..., BinaryIO]) -> None:
        """Hold what there is in another file; where that cannot be, go on with this one."""
        with self._lock:
            try:
                file = new(buffering=0)
            except OSError:
                return
            self._file.seek(0)
            try:
                for at in range(0, self._size, _PIECE):
                    _write(file, self._file.read(min(_PIECE, self._size - at)))
            except OSError:
                file.close()
                return
            self._file.close()
            self._file = file
            finalize(self, file.close)


def _write(file: BinaryIO, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:  # a file without a buffer may take less than it is given
        rest = rest[file.write(rest) :]
