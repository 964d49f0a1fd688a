"""A least-recently-used cache of values that are expensive to build again."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_SHARE = 4  # as many things as share the room at least: what takes more than its share is heavy
_HEAVY = 2  # heavy things that are kept: a call and its result may both be that
_Made = TypeVar("_Made")


class LruCache(Generic[_Made]):
    """Makes things by number, and keeps those that were asked for last, up to `room` of what `weight` says of each.

    Of heavy things, each of more than a quarter of the room, the last two are kept besides, whatever they weigh: to
    make one again takes a while, so that what is light does not drive it out. Several threads may ask at once.
    """

    def __init__(self, make: Callable[[int], _Made], weight: Callable[[_Made], int], room: int) -> None:
        self._make, self._weight, self._room = make, weight, room
        self._left = room
        self._light: OrderedDict[int, tuple[_Made, int]] = OrderedDict()
        self._heavy: OrderedDict[int, tuple[_Made, int]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, number: int) -> _Made:
        """The thing with that number."""
        with self._lock:
            for kept in (self._light, self._heavy):
                if number in kept:
                    kept.move_to_end(number)
                    return kept[number][0]
        made = self._make(number)
        with self._lock:
            self._keep(number, made, self._weight(made))
        return made

    def _keep(self, number: int, made: _Made, weight: int) -> None:
        if weight * _SHARE > self._room:
            self._heavy[number] = made, weight
            while len(self._heavy) > _HEAVY:
                self._heavy.popitem(last=False)
        elif number not in self._light:  # nor did another thread make it meanwhile
            self._light[number] = made, weight
            self._left -= weight
            while self._left < 0:
                self._left += self._light.popitem(last=False)[1][1]
