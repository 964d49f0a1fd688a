"""A shelf: many pieces in one blob, each packed by itself, any of which is unpacked without the others.

In front of the pieces stands what is told of all of them, and their sizes. A piece is some kilobytes, a shelf of a
stream of ten million tokens a quarter of a gigabyte.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from struct import Struct
from typing import Any
from zlib import crc32

from storage.packing.blobs import DamagedBlobError, from_blob, to_blob
from storage.packing.numbers import pack_integers, unpack_integers
from storage.packing.spool import Read, Spool
from storage.packing.values import pack, unpack

_MARK = b"\x5a"  # as far from the marks of `blobs` as they are from each other
_FORMER_MARK = b"\2"  # of shelves in tables before v0007
_HEAD = Struct("<cII")  # the mark, the checksum of all that follows, and the size of what is told


def shelf_blob(told: Sequence[Any], pieces: Sequence[bytes]) -> bytes:
    """A shelf of these pieces, each made by `to_blob`; what is `told` must be such that `pack` takes it."""
    begin = to_blob(pack([*told, pack_integers(list(map(len, pieces)))]))
    body = b"".join(pieces)
    return _HEAD.pack(_MARK, crc32(body, crc32(begin)), len(begin)) + begin + body


def is_shelf(begin: bytes) -> bool:
    """Whether a blob that begins so is a shelf."""
    return begin[:1] in (_MARK, _FORMER_MARK)


def checked(pieces: Iterable[bytes]) -> Iterator[bytes]:
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


def reads(blob: bytes) -> Read:
    """Reads in a shelf that is in memory; DamagedBlobError where it is not as it was written."""
    for _ in checked((blob,)):
        pass
    view = memoryview(blob)
    return lambda start, size: bytes(view[start : start + size])


def in_spool(pieces: Iterator[bytes], size: int, spool: Spool) -> Read | bytes:
    """Reads in a shelf of so many bytes that comes in pieces, now checked and in the spool; or another blob's bytes."""
    first = next(pieces)
    rest = chain((first,), pieces)
    return spool.add(checked(rest), size) if is_shelf(first) else b"".join(rest)


class Shelf:
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
