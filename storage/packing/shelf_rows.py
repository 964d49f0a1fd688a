"""Long rows of things on a shelf: packed one by one, some kilobytes to a window, and made where somebody looks."""

from array import array
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

from inspector.model.columns import Made, Uneven
from storage.packing.blobs import to_blob
from storage.packing.numbers import Packed, pack_integers, unpack_integers
from storage.packing.shelf import Shelf
from storage.packing.values import pack, unpack, unpack_list

Once = dict[str, str]
"""Words that were met, so that equal ones are kept once."""

_Thing = TypeVar("_Thing")
_WINDOW = 16 << 10  # bytes, packed one by one, with which a window is full
_KEPT = 8  # windows of a row that are kept as bytes: those that a screen shows, and those that a walk comes by


class RowFilling:
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


class ShelfRows:
    """The rows of a shelf, to be read in the order in which they were laid there."""

    def __init__(self, shelf: Shelf) -> None:
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
        def window(number: int) -> Made[_Thing]:
            once: Once = {}
            return Made(unpack_list(shelf.piece(first + number)), lambda packed: make(unpack(packed), once))

        return Uneven(starts, window)
