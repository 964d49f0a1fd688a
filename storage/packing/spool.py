"""Bytes that shall take no memory: in a file without a name, which goes with the last who reads in it."""

import io
from collections.abc import Iterable
from tempfile import TemporaryFile
from threading import Lock
from typing import BinaryIO, cast
from weakref import finalize


class Spool:
    """Holds the bytes of some pieces; may be read from several threads. Where no disk takes them, memory must."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._lock = Lock()
        self._file = _filled(pieces)
        finalize(self, self._file.close)

    def read(self, start: int, size: int) -> bytes:
        """The bytes from an offset on, so many of them or as many as there are."""
        with self._lock:
            self._file.seek(start)
            return self._file.read(size)


def _filled(pieces: Iterable[bytes]) -> BinaryIO:
    file = _new_file()
    try:
        for piece in pieces:
            file = _with(file, piece)
    except BaseException:
        file.close()
        raise
    return file


def _with(file: BinaryIO, piece: bytes) -> BinaryIO:
    """A file with a piece at its end: another one where the disk does not take it."""
    begin = file.tell()
    try:
        _write(file, piece)
    except OSError:
        file = _in_memory(file, begin)
        file.write(piece)
    return file


def _new_file() -> BinaryIO:
    try:
        return cast(BinaryIO, TemporaryFile(buffering=0))
    except OSError:
        return io.BytesIO()


def _write(file: BinaryIO, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:  # a file without a buffer may take less than it is given
        rest = rest[file.write(rest) :]


def _in_memory(file: BinaryIO, size: int) -> BinaryIO:
    """The first bytes of a file in memory instead."""
    with file:
        file.seek(0)
        kept = io.BytesIO(file.read(size))
    kept.seek(size)
    return kept
