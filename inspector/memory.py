"""How much memory a record takes once it is read: bounds that do not trust a record's length.

A record is held as bytes, decoded text and Python objects at once. Text takes one, two or four bytes a character
(PEP 393), which one character decides for all of it; an empty list of two bytes takes 64, an object of eight 240. So a
record is judged before it is parsed, by its length, its widest character, and its brackets, commas and colons outside
of strings, and a trace before it is inspected. The constants are upper bounds, measured with CPython 3.11 to 3.14.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_DEFAULT_MIB = 256

RECORD_MEMORY = int(os.environ.get("WEAKLINK_RECORD_MEMORY_MB") or _DEFAULT_MIB) << 20
"""What one record, or all that makes up one trace, may take; the whole process takes about 1.5 times as much."""

TOO_MANY_ROWS = (
    f"with the rows before it, it would take more than the {RECORD_MEMORY >> 20:,} MiB of memory that a session may "
    "take (WEAKLINK_RECORD_MEMORY_MB sets it); the rest was not read"
)
"""Why the rows of a session end."""

RECORD_BYTES = RECORD_MEMORY // 4
"""The longest record that is read; a longer one is skipped, and read past in blocks."""

SMALL_JSON = 1 << 20
"""The length of JSON texts whose values cannot take a fifth of the bound."""

_LIST, _OBJECT, _ELEMENT, _MEMBER = 64, 240, 66, 100
_ROW, _MARKER = 1_000, 600

_WIDE_BYTES = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")
_WIDE_TEXT = re.compile("[\U00010000-\U0010ffff]|\\\\u[dD][89abAB]")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_SHORT = 32

_SHARE = 4  # as many things as share the room at least: what takes more than its share is heavy
_HEAVY = 2  # heavy things that are kept: a call and its result may both be that
_Made = TypeVar("_Made")


def too_long(limit: int) -> str:
    """Why a record beyond the bound, in bytes, is skipped."""
    return f"it is longer than {limit >> 20} MiB" if limit >= 1 << 20 else f"it is longer than {limit} bytes"


class TooMuchMemoryError(ValueError):
    """A record would take more memory than `RECORD_MEMORY`; the text says so."""


def check_json(raw: bytes) -> None:
    """Raise TooMuchMemoryError where the value of a JSON text would take too much memory."""
    if len(raw) > SMALL_JSON and (needed := json_memory(raw)) > RECORD_MEMORY:
        raise TooMuchMemoryError(too_much(needed))


def json_memory(raw: bytes) -> int:
    """At most so many bytes does a JSON text take with its decoded text and its value."""
    texts = len(raw) * (3 + 2 * _width(raw))
    needed = texts + _structure(raw)
    if needed > RECORD_MEMORY >= texts:  # what is in strings makes no objects
        strings = (found[0] for found in _STRING.finditer(raw) if found.end() - found.start() > _SHORT)
        needed -= sum(map(_structure, strings))
    return needed


def held_memory(raw: bytes) -> int:
    """At most so many bytes does the turn take that a row of a session becomes; its value is gone by then."""
    return _ROW + len(raw) * (1 + _width(raw))


def text_memory(text: str) -> int:
    """How many bytes a text takes, once as text and once as UTF-8."""
    return len(text) * (2 if text.isascii() else 8 if _WIDE_TEXT.search(text) else 5)


def transcript_memory(text: str) -> int:
    """At most so many bytes do the turns of a raw transcript take; each begins with a marker in angle brackets."""
    return text_memory(text) + text.count("<") * _MARKER


def too_much(needed: int) -> str:
    """Why a record is skipped that needs so many bytes of memory."""
    return (
        f"it would take about {needed >> 20:,} MiB of memory, and a record may take {RECORD_MEMORY >> 20:,} "
        f"(WEAKLINK_RECORD_MEMORY_MB sets it)"
    )


def _width(raw: bytes) -> int:
    """The bytes of each character once it is decoded."""
    if raw.isascii() and b"\\u" not in raw:
        return 1
    return 4 if _WIDE_BYTES.search(raw) else 2


def _structure(raw: bytes) -> int:
    return raw.count(b"[") * _LIST + raw.count(b"{") * _OBJECT + raw.count(b",") * _ELEMENT + raw.count(b":") * _MEMBER


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
