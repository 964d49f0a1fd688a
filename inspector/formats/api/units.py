"""Splits the raw text of an API's answer into units, events or lines with one JSON value each, as they complete.

In an event stream, the line that has not ended is held back (and earlier `data:` lines of the same event, while their
JSON is not complete); otherwise the JSON value that has not ended, or the line between two values. A unit has at most
`MAX_UNIT` code points; a longer one, with all text after it, is one last unit without a value.
"""

from enum import Enum

import msgspec

from weaklink.inspector.scanning import BracketCounter, lazy_pattern
from weaklink.inspector.text import Range

MAX_UNIT = 64 * 1024 * 1024
"""The maximum number of code points of a JSON value or line; longer ones are not read as a value."""

_DATA = "data:"
_FIELDS = ("event:", "id:", "retry:", ":")
_FIELD_NAMES = frozenset({"event", "id", "retry", "data"})
_SPACE = lazy_pattern(r"\s*")


class UnitKind(Enum):
    """The content of a unit: a JSON value, the stream's end sign, mere structure, unrelated text, or too much text."""

    VALUE = 1
    DONE = 2
    STRUCTURE = 3
    STRAY = 4
    TOO_LONG = 5


class Unit(msgspec.Struct, frozen=True):
    """A section of the raw text from `base` on; the units tile it.

    `json` is the range of its value in it. `readable` is the same text, with everything but the value blanked out there
    (an event's value may span several `data:` lines). `cut` says that the text ended before the unit did.
    """

    kind: UnitKind
    base: int
    text: str
    json: Range
    readable: str
    cut: bool = False


class Cutter:
    """Splits a text, fed in any chunks, into units; a unit that is too long takes the whole rest.

    `base` is the position of the text's first character.
    """

    by_line = False

    def __init__(self, base: int = 0, *, max_unit: int = MAX_UNIT) -> None:
        self._max = max_unit
        self._base = base
        self._pieces: list[str] = []
        self._length = 0
        self._takes_rest = False

    def read(self, text: str, position: int) -> tuple[Unit | None, int]:
        """Read a chunk from `position` up to the end of a unit; returns that unit, and the position after it."""
        raise NotImplementedError

    def hold_rest(self, unit: Unit) -> None:
        """Take `unit`, the last that was returned, back: it and all that follow are one value, read at the end."""
        self._base = unit.base
        self._pieces = [unit.text]
        self._length = len(unit.text)
        self._takes_rest = True

    def close(self) -> Unit | None:
        """The unit that the end of the text cuts off; None if there is none."""
        if not self._pieces:
            return None
        return self._unit(UnitKind.TOO_LONG, None) if self._length > self._max else self._last()

    def _last(self) -> Unit:
        """The unit that the text's end cuts off."""
        raise NotImplementedError

    def _collect(self, text: str, position: int, end: int) -> int:
        """Add `text` up to `end` to the unit, or all of it if the unit is too long; returns the position after it."""
        self._length += end - position
        if self._length > self._max:
            self._takes_rest = True
            end = len(text)
        self._pieces.append(text[position:end])
        return end

    def _unit(
        self, kind: UnitKind, json_range: Range | None, readable: str | None = None, *, cut: bool = False
    ) -> Unit:
        """The collected unit."""
        text, base = "".join(self._pieces), self._base
        self._base += len(text)
        self._pieces, self._length = [], 0
        return Unit(kind, base, text, json_range or _trimmed(text), readable or text, cut)


class EventLines(Cutter):
    """A Cutter for server-sent events, as in the WHATWG HTML standard; a line ends with LF or CRLF.

    An event's value may span several `data:` lines; its unit ends with the line that completes it.
    """

    by_line = True

    def __init__(self, base: int = 0, *, max_unit: int = MAX_UNIT) -> None:
        super().__init__(base, max_unit=max_unit)
        self._line: list[str] = []
        self._values: list[str] = []
        self._counter = BracketCounter()

    def read(self, text: str, position: int) -> tuple[Unit | None, int]:
        """See Cutter."""
        if self._takes_rest:
            return None, self._collect(text, position, len(text))
        newline = text.find("\n", position)
        end = newline + 1 or len(text)
        read_to = self._collect(text, position, end)
        self._line.append(text[position:end])
        if newline < 0 or self._takes_rest:
            return None, read_to
        line, self._line = "".join(self._line), []
        return self._add_line(line), read_to

    def _last(self) -> Unit:
        line = "".join(self._line)
        unit = self._add_line(line, cut=True) if line else None
        return unit or self._unit(UnitKind.VALUE, None, "".join(self._values) or None, cut=True)

    def _add_line(self, line: str, *, cut: bool = False) -> Unit | None:
        """The unit that a whole line completes; the line has been collected already."""
        start = len(_DATA) + line.startswith(_DATA + " ")
        payload = line[start:].strip() if line.startswith(_DATA) else ""
        if self._values and line.startswith(_DATA):
            return self._value(line, start, cut=cut)
        if self._values:
            blank = "".join(" " if character != "\n" else "\n" for character in line)
            self._values.append(blank)
            return self._finished(UnitKind.VALUE, cut=cut)
        if line.startswith(_DATA) and payload[:1] in ("{", "["):
            return self._finished(UnitKind.DONE) if payload == "[DONE]" else self._value(line, start, cut=cut)
        bare = line.strip()
        if bare.startswith("{"):
            return self._value(line, 0, cut=cut) or self._finished(UnitKind.VALUE, cut=cut)
        is_structure = not bare or bare == _DATA or bare.startswith(_FIELDS) or bare in _FIELD_NAMES
        return self._finished(UnitKind.STRUCTURE if is_structure else UnitKind.STRAY, cut=cut)

    def _value(self, line: str, start: int, *, cut: bool) -> Unit | None:
        """Add a line to an event's value, which begins at `start` in the line."""
        if not self._values:
            self._counter = BracketCounter()
        readable = " " * start + line[start:]
        self._values.append(readable)
        return self._finished(UnitKind.VALUE, cut=cut) if self._counter.feed(readable) >= 0 or cut else None

    def _finished(self, kind: UnitKind, *, cut: bool = False) -> Unit:
        readable = "".join(self._values)
        self._values = []
        return self._unit(kind, _trimmed(readable) if readable else None, readable or None, cut=cut)


class JsonValues(Cutter):
    """A Cutter for consecutive JSON values: a document, or one per line.

    If `by_line` is set, the end of a line also ends a value that is not complete.
    """

    def __init__(self, base: int = 0, *, max_unit: int = MAX_UNIT) -> None:
        super().__init__(base, max_unit=max_unit)
        self._counter: BracketCounter | None = None
        self._is_stray = False

    def read(self, text: str, position: int) -> tuple[Unit | None, int]:
        """See Cutter."""
        if self._takes_rest:
            return None, self._collect(text, position, len(text))
        if self._counter is None and not self._is_stray:
            first = _SPACE.match(text, position).end()  # type: ignore[union-attr]  # matches ""
            position = self._collect(text, position, first)
            if position == len(text):
                return None, position
            self._is_stray = text[position] not in "{["
            self._counter = None if self._is_stray else BracketCounter()
        end = self._end(text, position)
        read_to = self._collect(text, position, len(text) if end < 0 else end)
        if end < 0 or self._takes_rest:
            return None, read_to
        return self._finished(cut=False), read_to

    def _last(self) -> Unit:
        return self._finished(cut=True)

    def _end(self, text: str, position: int) -> int:
        newline = text.find("\n", position) if self._counter is None or self.by_line else -1
        if self._counter is None:
            return newline
        end = self._counter.feed(text, position, None if newline < 0 else newline)
        return newline if end < 0 else end

    def _finished(self, *, cut: bool) -> Unit:
        text = "".join(self._pieces)
        is_value = self._counter is not None or self._takes_rest
        kind = UnitKind.VALUE if is_value else UnitKind.STRAY if text.strip() else UnitKind.STRUCTURE
        self._counter, self._is_stray = None, False
        return self._unit(kind, _trimmed(text), cut=cut)


def _trimmed(text: str) -> Range:
    return Range(0, len(text)).stripped(text)
