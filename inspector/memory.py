"""Upper bounds on the memory that a record takes once it is parsed; its length alone does not bound it.

A record is in memory as bytes, decoded text and Python objects at once. Text takes one, two or four bytes a character
(PEP 393), and the widest character decides for all of it; an empty list takes 64 bytes for two bytes of JSON, an
object 240 for eight. So a record is checked before it is parsed, by its length, its widest character, and its
brackets, commas and colons outside of strings; a trace is checked before it is inspected. The constants are upper
bounds, measured with CPython 3.11 to 3.14.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Generic, TypeVar

_DEFAULT_MIB = 256

RECORD_MEMORY = int(os.environ.get("WEAKLINK_RECORD_MEMORY_MB") or _DEFAULT_MIB) << 20
"""The limit in bytes for one record, or for all records of one trace; the process takes about 1.5 times as much."""

TOO_MANY_ROWS = (
    f"with the rows before it, it would need more than {RECORD_MEMORY >> 20:,} MiB of memory, the limit for a session "
    "(set by WEAKLINK_RECORD_MEMORY_MB); the rest was not read"
)
"""The reason why the remaining rows of a session are not read."""

RECORD_BYTES = RECORD_MEMORY // 4
"""The longest record that is read, in bytes; a longer one is skipped block by block."""

SMALL_JSON = 1 << 20
"""JSON texts up to this many bytes are not checked: their values take less than a fifth of the limit."""

_LIST, _OBJECT, _ELEMENT, _MEMBER = 64, 240, 66, 100
_ROW, _MARKER = 1_000, 600

_PIECE = 1 << 20
"""How much is searched in one call, which holds the interpreter, and with it every stream of a proxy."""

_WIDE_ESCAPE = re.compile(rb"\\u[dD][89abAB]")
_NARROW = bytes({*range(256)} - {*range(0xF0, 0xF5)})  # all bytes but the first of four
_WIDE_TEXT = re.compile("[\U00010000-\U0010ffff]|\\\\u[dD][89abAB]")
_IN_STRING = re.compile(rb'(?:[^"\\]+|\\.){1,4096}', re.DOTALL)  # bounded: one match holds the interpreter
_OVERLAP = 3  # bytes of a match of `_WIDE_ESCAPE`, but one
_SHORT = 32

_SHARE = 4  # a value that takes more than one part in so many of the capacity is heavy
_HEAVY = 2  # heavy values that are kept: a call and its result may both be heavy
_Value = TypeVar("_Value")


def too_long(limit: int) -> str:
    """The reason why a record of more than `limit` bytes is skipped."""
    return f"it is longer than {limit >> 20} MiB" if limit >= 1 << 20 else f"it is longer than {limit} bytes"


class TooMuchMemoryError(ValueError):
    """A record would take more memory than `RECORD_MEMORY`; the message states how much."""


def check_json(raw: bytes) -> None:
    """Raise TooMuchMemoryError if the value of a JSON text would take too much memory."""
    if len(raw) > SMALL_JSON and (needed := json_memory(raw)) > RECORD_MEMORY:
        raise TooMuchMemoryError(too_much(needed))


def json_memory(raw: bytes) -> int:
    """An upper bound in bytes for a JSON text with its decoded text and its value."""
    texts = len(raw) * (3 + 2 * _width(raw))
    needed = texts + _structure(raw)
    if needed > RECORD_MEMORY >= texts:  # what is in strings makes no objects
        needed -= sum(map(_structure, _in_strings(raw)))
    return needed


def _in_strings(raw: bytes) -> Iterator[bytes]:
    """What is in the strings of a JSON text, except short ones, in pieces."""
    position = raw.find(b'"') + 1
    while position:
        start = position
        while (piece := _IN_STRING.match(raw, position)) is not None:
            position = piece.end()
            if position - start > _SHORT:
                yield piece[0]
        position = raw.find(b'"', position + 1) + 1 if position < len(raw) else 0


def estimated_memory(raw: bytes) -> int:
    """An upper bound in bytes for the turn made from a session's row; the row's JSON value is freed by then."""
    return _ROW + len(raw) * (1 + _width(raw))


def text_memory(text: str) -> int:
    """An upper bound in bytes for a text, once as `str` and once as UTF-8."""
    return len(text) * (2 if text.isascii() else 8 if _WIDE_TEXT.search(text) else 5)


def transcript_memory(text: str) -> int:
    """An upper bound in bytes for the turns of a raw transcript; each begins with a marker in angle brackets."""
    return text_memory(text) + text.count("<") * _MARKER


def too_much(needed: int) -> str:
    """The reason why a record that needs so many bytes of memory is skipped."""
    return (
        f"it would need about {needed >> 20:,} MiB of memory; the limit for a record is {RECORD_MEMORY >> 20:,} (set "
        "by WEAKLINK_RECORD_MEMORY_MB)"
    )


def _width(raw: bytes) -> int:
    """The bytes per character of the decoded text."""
    if raw.isascii() and b"\\u" not in raw:
        return 1
    starts = range(0, len(raw), _PIECE)
    if any(raw[start : start + _PIECE].translate(None, _NARROW) for start in starts):
        return 4
    has_escapes = b"\\u" in raw
    is_wide = has_escapes and any(_WIDE_ESCAPE.search(raw, start, start + _PIECE + _OVERLAP) for start in starts)
    return 4 if is_wide else 2


def _structure(raw: bytes) -> int:
    return sum(_structure_between(raw, start, start + _PIECE) for start in range(0, len(raw), _PIECE))


def _structure_between(raw: bytes, start: int, end: int) -> int:
    lists, objects = raw.count(b"[", start, end), raw.count(b"{", start, end)
    elements, members = raw.count(b",", start, end), raw.count(b":", start, end)
    return lists * _LIST + objects * _OBJECT + elements * _ELEMENT + members * _MEMBER


class LruCache(Generic[_Value]):
    """LRU cache of values that `make` computes from a number; their total `weight` is at most `room`.

    The last two heavy values, each of more than a quarter of `room`, are cached separately, whatever they weigh:
    computing one takes long, so light values must not evict it. Several threads may use the cache at once.
    """

    def __init__(self, make: Callable[[int], _Value], weight: Callable[[_Value], int], room: int) -> None:
        self._make, self._weight, self._room = make, weight, room
        self._left = room
        self._light: OrderedDict[int, tuple[_Value, int]] = OrderedDict()
        self._heavy: OrderedDict[int, tuple[_Value, int]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, number: int) -> _Value:
        """The value for `number`, computed if it is not cached."""
        with self._lock:
            for kept in (self._light, self._heavy):
                if number in kept:
                    kept.move_to_end(number)
                    return kept[number][0]
        value = self._make(number)
        with self._lock:
            self._keep(number, value, self._weight(value))
        return value

    def _keep(self, number: int, value: _Value, weight: int) -> None:
        if weight * _SHARE > self._room:
            self._heavy[number] = value, weight
            while len(self._heavy) > _HEAVY:
                self._heavy.popitem(last=False)
        elif number not in self._light:  # another thread may have added it
            self._light[number] = value, weight
            self._left -= weight
            while self._left < 0:
                self._left += self._light.popitem(last=False)[1][1]
