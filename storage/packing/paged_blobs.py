"""Blobs of many pages, each packed separately, so that one can be unpacked without the others.

A page has some kilobytes. Large blobs are read through a spool, which is in memory up to a bound, beyond it in a
temporary file.
"""

import io
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import accumulate, chain
from struct import Struct
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, BinaryIO, Self, TypeVar
from weakref import finalize
from zlib import crc32

import msgspec

from weaklink.inspector.model.columns import LazyColumn, Uneven
from weaklink.storage.packing.blobs import DamagedBlobError, from_blob, to_blob
from weaklink.storage.packing.values import Packed, pack, pack_integers, unpack, unpack_integers, unpack_list

_ROOM = 4 << 20
_PIECE = 1 << 18
_MARK = b"\x5a"  # differs from both marks of `blobs` in four bits
_FORMER_MARK = b"\2"  # of paged blobs in tables before v0007
_HEAD = Struct("<cII")  # the mark, the checksum of all bytes after this head, and the size of the header
_WINDOW = 16 << 10  # bytes of packed items that fill a window
_KEPT = 8  # windows of a row in the cache: those that a screen shows, and those that an iteration visits
Read = Callable[[int, int], bytes]
"""Returns up to `size` bytes from an offset on: `read(start, size)`."""


class Spool:
    """Stores bytes for random access, up to `room` of them in memory, more in a file; several threads may read.

    If no temporary file can be written, all bytes stay in memory.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self._lock = Lock()
        self._file: BinaryIO = io.BytesIO()
        self._room: float = room
        self._size = 0

    def add(self, pieces: Iterable[bytes], size: int) -> Read:
        """Add `size` bytes in pieces; returns a reader of only these bytes. Exceptions from the pieces propagate."""
        begin = self._begin(size)
        for piece in pieces:
            self._append(piece)
        return partial(self._read, begin)

    def append(self, piece: bytes) -> int:
        """Add some bytes; their offset in the spool."""
        begin = self._begin(len(piece))
        self._append(piece)
        return begin

    def read(self, start: int, size: int) -> bytes:
        """Up to `size` bytes from this offset in the spool on."""
        return self._read(0, start, size)

    def _begin(self, size: int) -> int:
        """The offset of the next `size` bytes, after moving to a file if they do not fit in memory."""
        if self._size + size > self._room:
            self._room = math.inf  # try a file only once
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
        """Move the contents to another file; if that fails, keep this one."""
        with self._lock:
            try:
                file = new(buffering=0)
            except OSError:
                return
            self._file.seek(0)
            try:
                for index in range(0, self._size, _PIECE):
                    _write(file, self._file.read(min(_PIECE, self._size - index)))
            except OSError:
                file.close()
                return
            self._file.close()
            self._file = file
            finalize(self, file.close)


def _write(file: BinaryIO, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:  # an unbuffered file may write only a part
        rest = rest[file.write(rest) :]


def paged_blob(header: Sequence[Any], pieces: Sequence[bytes]) -> bytes:
    """A paged blob of these pieces, each made by `to_blob`, after a header of values that `pack` accepts."""
    begin = to_blob(pack([*header, pack_integers(list(map(len, pieces)))]))
    body = b"".join(pieces)
    return _HEAD.pack(_MARK, crc32(body, crc32(begin)), len(begin)) + begin + body


def is_paged(begin: bytes) -> bool:
    """Whether a blob with this beginning is a paged blob."""
    return begin[:1] in (_MARK, _FORMER_MARK)


def checked_pages(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a paged blob unchanged; the first must have at least a kilobyte or be the whole blob.

    DamagedBlobError after the last piece if the checksum does not match.
    """
    found = stored = 0
    offset = _HEAD.size
    for piece in pieces:
        if offset:
            _, stored, _ = _HEAD.unpack_from(piece)
        found, offset = crc32(memoryview(piece)[offset:], found), 0
        yield piece
    if found != stored:
        raise DamagedBlobError("checksum mismatch in the pages of a packed column")


def page_reader(blob: bytes) -> Read:
    """A reader of a paged blob in memory; DamagedBlobError if its checksum does not match."""
    for _ in checked_pages((blob,)):
        pass
    view = memoryview(blob)
    return lambda start, size: bytes(view[start : start + size])


def spooled_reader(pieces: Iterator[bytes], size: int, spool: Spool) -> Read | bytes:
    """A reader of a paged blob of `size` bytes, checked and in the spool; the bytes themselves for any other blob."""
    first = next(pieces)
    rest = chain((first,), pieces)
    return spool.add(checked_pages(rest), size) if is_paged(first) else b"".join(rest)


class PagedBlob:
    """A paged blob whose checksum was verified: its `header`, and its pieces by number, read with `read`."""

    def __init__(self, read: Read) -> None:
        _, _, size = _HEAD.unpack(read(0, _HEAD.size))
        *self.header, sizes = unpack(from_blob(read(_HEAD.size, size)))
        self._read = read
        self._starts = array("q", accumulate(unpack_integers(sizes), initial=_HEAD.size + size))

    def piece(self, number: int) -> bytes:
        """The unpacked piece with this number, from 0."""
        start = self._starts[number]
        return from_blob(self._read(start, self._starts[number + 1] - start))


StringPool = dict[str, str]
"""A cache of strings, so that equal ones are in memory once."""

_Item = TypeVar("_Item")


class PagedRowWriter:
    """Packs the items of one row in order. `digest` covers the packed items, `pieces` are those of the paged blob."""

    def __init__(self) -> None:
        self.count = 0
        self.digest = blake2b()
        self.pieces: list[bytes] = []
        self._lengths: list[int] = []
        self._items: list[msgspec.Raw] = []
        self._size = 0

    def add(self, facts: Any) -> bytes:
        """Add an item; returns it packed."""
        packed = pack(facts)
        self.count += 1
        self._items.append(msgspec.Raw(packed))
        self._size += len(packed)
        if self._size >= _WINDOW:
            self._end()
        return packed

    def copy(self) -> Self:
        """A writer with the items so far, to which others are added."""
        other = copy(self)
        growing = (list, dict, type(self.digest))
        vars(other).update({name: value.copy() for name, value in vars(self).items() if isinstance(value, growing)})
        return other

    def lengths(self) -> Packed:
        """The number of items in each window; call it after the last item."""
        if self._items:
            self._end()
        return pack_integers(self._lengths)

    def _end(self) -> None:
        raw = pack(self._items)
        self.digest.update(raw)
        self.pieces.append(to_blob(raw))
        self._lengths.append(len(self._items))
        self._items, self._size = [], 0


class PagedRows:
    """The rows of a paged blob, to be read in the order in which they were written."""

    def __init__(self, blob: PagedBlob) -> None:
        self._blob = blob
        self._first = 0

    def next(self, lengths: Packed, make: Callable[[Any, StringPool], _Item]) -> Uneven[_Item]:
        """The next row, with these `lengths` of its windows; `make` builds an item from its packed values.

        The dictionary of strings that `make` gets lives as long as its window.
        """
        starts = array("q", accumulate(unpack_integers(lengths), initial=0))
        blob, first = self._blob, self._first
        self._first += len(starts) - 1

        @lru_cache(_KEPT)
        def window(number: int) -> LazyColumn[_Item]:
            pool: StringPool = {}
            return LazyColumn(unpack_list(blob.piece(first + number)), lambda packed: make(unpack(packed), pool))

        return Uneven(starts, window)
