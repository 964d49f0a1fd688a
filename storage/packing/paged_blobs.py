"""Blobs of many pages, each packed by itself, so that one is unpacked without the others.

A page is some kilobytes. Large blobs are read through a spool, in memory up to a bound and beyond it in a temporary
file.
"""

import io
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import accumulate, chain
from struct import Struct
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, BinaryIO, TypeVar
from weakref import finalize
from zlib import crc32

import msgspec

from inspector.model.columns import LazyColumn, Uneven
from storage.packing.blobs import DamagedBlobError, from_blob, to_blob
from storage.packing.values import Packed, pack, pack_integers, unpack, unpack_integers, unpack_list

_ROOM = 4 << 20
_PIECE = 1 << 18
_MARK = b"\x5a"  # as far from the marks of `blobs` as they are from each other
_FORMER_MARK = b"\2"  # of shelves in tables before v0007
_HEAD = Struct("<cII")  # the mark, the checksum of all that follows, and the size of what is told
_WINDOW = 16 << 10  # bytes, packed one by one, with which a window is full
_KEPT = 8  # windows of a row that are kept as bytes: those that a screen shows, and those that a walk comes by
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


def paged_blob(told: Sequence[Any], pieces: Sequence[bytes]) -> bytes:
    """A shelf of these pieces, each made by `to_blob`; what is `told` must be such that `pack` takes it."""
    begin = to_blob(pack([*told, pack_integers(list(map(len, pieces)))]))
    body = b"".join(pieces)
    return _HEAD.pack(_MARK, crc32(body, crc32(begin)), len(begin)) + begin + body


def is_paged(begin: bytes) -> bool:
    """Whether a blob that begins so is a shelf."""
    return begin[:1] in (_MARK, _FORMER_MARK)


def checked_pages(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a shelf as they are, in pieces, the first of them a kilobyte or all of it.

    DamagedBlobError behind the last where the shelf is not as it was written.
    """
    found = told = 0
    behind = _HEAD.size
    for piece in pieces:
        if behind:
            _, told, _ = _HEAD.unpack_from(piece)
        found, behind = crc32(memoryview(piece)[behind:], found), 0
        yield piece
    if found != told:
        raise DamagedBlobError("the windows of a packed column are not as they were written")


def page_reader(blob: bytes) -> Read:
    """Reads in a shelf that is in memory; DamagedBlobError where it is not as it was written."""
    for _ in checked_pages((blob,)):
        pass
    view = memoryview(blob)
    return lambda start, size: bytes(view[start : start + size])


def spooled_reader(pieces: Iterator[bytes], size: int, spool: Spool) -> Read | bytes:
    """Reads in a shelf of so many bytes that comes in pieces, now checked and in the spool; or another blob's bytes."""
    first = next(pieces)
    rest = chain((first,), pieces)
    return spool.add(checked_pages(rest), size) if is_paged(first) else b"".join(rest)


class PagedBlob:
    """A shelf that was `checked`: what is `told` of its pieces, and each of them by its number, out of `read`."""

    def __init__(self, read: Read) -> None:
        _, _, size = _HEAD.unpack(read(0, _HEAD.size))
        *self.told, sizes = unpack(from_blob(read(_HEAD.size, size)))
        self._read = read
        self._starts = array("q", accumulate(unpack_integers(sizes), initial=_HEAD.size + size))

    def piece(self, number: int) -> bytes:
        """The bytes of which `to_blob` made the piece with this number, from 0."""
        start = self._starts[number]
        return from_blob(self._read(start, self._starts[number + 1] - start))


Once = dict[str, str]
"""Words that were met, so that equal ones are kept once."""

_Thing = TypeVar("_Thing")


class PagedRowWriter:
    """Takes the things of one row in their order. `digest` is that of what it took, `pieces` are those of the shelf."""

    def __init__(self) -> None:
        self.count = 0
        self.digest = blake2b()
        self.pieces: list[bytes] = []
        self._lengths: list[int] = []
        self._waiting: list[msgspec.Raw] = []
        self._size = 0

    def add(self, facts: Any) -> bytes:
        """Take a thing; what it is packed as."""
        packed = pack(facts)
        self.count += 1
        self._waiting.append(msgspec.Raw(packed))
        self._size += len(packed)
        if self._size >= _WINDOW:
            self._end()
        return packed

    def told(self) -> Packed:
        """How many things each window holds, now that all were taken."""
        if self._waiting:
            self._end()
        return pack_integers(self._lengths)

    def _end(self) -> None:
        raw = pack(self._waiting)
        self.digest.update(raw)
        self.pieces.append(to_blob(raw))
        self._lengths.append(len(self._waiting))
        self._waiting, self._size = [], 0


class PagedRows:
    """The rows of a shelf, to be read in the order in which they were laid there."""

    def __init__(self, shelf: PagedBlob) -> None:
        self._shelf = shelf
        self._first = 0

    def next(self, told: Packed, make: Callable[[Any, Once], _Thing]) -> Uneven[_Thing]:
        """The next row, of which this was told: `make` makes a thing of what was taken for it.

        Words that `make` keeps in its dictionary stay there as long as the window.
        """
        starts = array("q", accumulate(unpack_integers(told), initial=0))
        shelf, first = self._shelf, self._first
        self._first += len(starts) - 1

        @lru_cache(_KEPT)
        def window(number: int) -> LazyColumn[_Thing]:
            once: Once = {}
            return LazyColumn(unpack_list(shelf.piece(first + number)), lambda packed: make(unpack(packed), once))

        return Uneven(starts, window)
