"""What was made last, so that it need not be made again at once."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Made = TypeVar("_Made")
_LEAST = 4  # are kept whatever they weigh: those that one look needs together


class Recent(Generic[_Made]):
    """Makes things by number, and keeps those that were asked for last, up to `room` of what `weight` says of each.

    Several threads may ask at once.
    """

    def __init__(self, make: Callable[[int], _Made], weight: Callable[[_Made], int], room: int) -> None:
        self._make, self._weight, self._room = make, weight, room
        self._kept: OrderedDict[int, tuple[_Made, int]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, number: int) -> _Made:
        """The thing with that number."""
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number][0]
        made = self._make(number)
        weight = self._weight(made)
        with self._lock:
            if number not in self._kept:  # nor did another thread make it meanwhile
                self._kept[number] = made, weight
                self._room -= weight
            while self._room < 0 and len(self._kept) > _LEAST:
                self._room += self._kept.popitem(last=False)[1][1]
        return made
