"""Keeps what was looked at last, so that what is made anew at every look is not made again for the same screen."""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

_Thing = TypeVar("_Thing")

_LEAST = 2  # kept whatever they weigh


class Near(Generic[_Thing]):
    """The last `most` things by number, fewer where they weigh more than `heavy` together; for several threads."""

    def __init__(self, *, most: int, heavy: int) -> None:
        self._most, self._heavy = most, heavy
        self._kept: OrderedDict[int, tuple[_Thing, int]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, number: int) -> _Thing | None:
        """A thing that is still kept, else None."""
        with self._lock:
            if number not in self._kept:
                return None
            self._kept.move_to_end(number)
            return self._kept[number][0]

    def keep(self, number: int, thing: _Thing, weight: int) -> None:
        """Keep a thing, and let go of those that nobody looked at for longest."""
        with self._lock:
            _, before = self._kept.pop(number, (None, 0))
            self._kept[number] = thing, weight
            self._weight += weight - before
            while len(self._kept) > self._most or (self._weight > self._heavy and len(self._kept) > _LEAST):
                self._weight -= self._kept.popitem(last=False)[1][1]
