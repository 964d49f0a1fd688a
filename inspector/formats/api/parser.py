"""A FormatParser for an API's raw JSON, or for the text that it turns out to be.

Theory of operation. The first characters decide: `{` or `[` begins JSON values (a document, or a line each), `data:`,
`event:`, `id:`, `retry:` or a colon an event stream; anything else is text, which goes to the text side as it comes.
The first value that a unit holds must have one of the API's shapes, or all of it is text after all. Until then
everything is held back, and nothing told: one value, or what an event stream sends before its first. From then on the
unit that has not ended is held back (see `units`). If that first value is no strict JSON, the whole text is held to its
end and read as one. A value that is longer than `MAX_UNIT` code points is text, or, once values were read, markup with
a fault.

Spans and faults depend on the units alone, hence not on how the text was cut into pieces.
"""

from collections.abc import Callable

from inspector.diagnostics import Fault
from inspector.formats.api.pieces import ApiShapeReader, Piece
from inspector.formats.api.tiling import Tiler
from inspector.formats.api.units import Cutter, EventLines, JsonValues, Unit, UnitKind
from inspector.json_scanner import JsonReading, read_json
from inspector.rules.json_syntax import TRAILING_DATA
from inspector.rules.recording import UNKNOWN_WIRE_EVENT
from inspector.segmenter.events import FormatParser, ParseEvent
from inspector.text import Range

_STREAM_BEGINNINGS = ("data:", "event:", "id:", "retry:", ":")
_LONGEST_BEGINNING = max(map(len, _STREAM_BEGINNINGS))
_MAX_QUOTE = 40


class ApiOrText:
    """A FormatParser: an API's JSON where the text is that, else whatever `text_side` makes of it."""

    def __init__(self, shapes: Callable[[], ApiShapeReader], text_side: FormatParser) -> None:
        self._new_shapes = shapes
        self._shapes = shapes()
        self._text_side = text_side
        self._is_text = False
        self._cutter: Cutter | None = None
        self._tiler: Tiler | None = None
        self._undecided: list[str] = []
        self._early: list[Unit] = []
        self._strays = 0
        self._is_cut = False

    @property
    def text_side(self) -> FormatParser:
        """The parser of text that is no API's JSON."""
        return self._text_side

    @property
    def certain_to(self) -> int:
        """See FormatParser."""
        if self._is_text:
            return self._text_side.certain_to
        return self._tiler.certain_to if self._tiler is not None else 0

    def feed(self, text: str) -> list[ParseEvent]:
        """See FormatParser."""
        if self._is_text:
            return self._text_side.feed(text)
        if self._tiler is None:
            self._undecided.append(text)
        if self._cutter is None:
            text = "".join(self._undecided)
            beginning = text.lstrip()[:_LONGEST_BEGINNING]
            if _may_begin(beginning):
                return []
            self._cutter = _cutter(beginning)
        if self._cutter is None:
            return self._fall_back()
        return self._read(self._cutter, text)

    def close(self) -> list[ParseEvent]:
        """See FormatParser."""
        events: list[ParseEvent] = []
        last = self._cutter.close() if self._cutter is not None and not self._is_text else None
        if last is not None:
            events += self._take(last)
        if self._tiler is not None:
            return [*events, *self._tiler.close(self._missing_end())]
        if not self._is_text:
            events += self._fall_back()
        return [*events, *self._text_side.close()]

    def _read(self, cutter: Cutter, text: str) -> list[ParseEvent]:
        events: list[ParseEvent] = []
        at = 0
        while at < len(text):
            unit, at = cutter.read(text, at)
            if unit is not None:
                events += self._take(unit)
                if self._is_text:
                    break
        return events

    def _fall_back(self) -> list[ParseEvent]:
        """It is text after all."""
        self._is_text = True
        text, self._undecided, self._early = "".join(self._undecided), [], []
        return self._text_side.feed(text) if text else []

    # units

    def _take(self, unit: Unit) -> list[ParseEvent]:
        if self._tiler is not None:
            return self._tiler.take(unit, *self._pieces(unit))
        if unit.kind is UnitKind.STRUCTURE:
            self._early.append(unit)
            return []
        reading = read_json(unit.readable, unit.json) if unit.kind is UnitKind.VALUE else None
        if reading is None or self._cutter is None:
            return self._fall_back()
        if not reading.strict and not self._cutter.by_line and not unit.cut:
            if self._said(unit, reading, self._new_shapes()) is None:
                return self._fall_back()
            self._cutter.hold_rest(unit)
            return []
        pieces = self._said(unit, reading, self._shapes)
        if pieces is None:
            return self._fall_back()
        self._undecided = []
        self._cutter.by_line = self._cutter.by_line or "\n" not in unit.text.strip()
        self._tiler = Tiler(strings=self._shapes.strings)
        events = [event for early in self._early for event in self._tiler.take(early, [])]
        self._early = []
        return [*events, *self._tiler.take(unit, pieces, reading.faults)]

    def _pieces(self, unit: Unit) -> tuple[list[Piece], tuple[Fault, ...]]:
        """What a unit says, and the faults of its JSON."""
        match unit.kind:
            case UnitKind.DONE:
                return self._shapes.end(unit.json), ()
            case UnitKind.STRUCTURE:
                return [], ()
            case UnitKind.STRAY | UnitKind.TOO_LONG:
                return [], self._stray(unit)
            case UnitKind.VALUE:
                reading = read_json(unit.readable, unit.json)
                self._is_cut = unit.cut and not reading.strict
                pieces = self._said(unit, reading, self._shapes)
                return pieces or [], reading.faults if pieces is not None else (*reading.faults, *self._stray(unit))

    @staticmethod
    def _said(unit: Unit, reading: JsonReading, shapes: ApiShapeReader) -> list[Piece] | None:
        """What the values of a unit say: mostly one; malformed JSON may fall into several."""
        found: list[Piece] = []
        is_known = False
        for node in reading.nodes:
            pieces = shapes.read(node, unit.readable)
            if pieces is not None:
                is_known = True
                found += pieces
        return found if is_known else None

    def _missing_end(self) -> str:
        """What is missing where a stream ended before its end, in a sentence; else ""."""
        is_missing = self._shapes.awaits_end and not self._is_cut
        return "The stream ends here without the API's end sign." if is_missing else ""

    def _stray(self, unit: Unit) -> tuple[Fault, ...]:
        """What a unit is that says nothing the API knows; told for the first of them only."""
        self._strays += 1
        place = unit.json if len(unit.json) else Range(0, len(unit.text))
        first = place.of(unit.text)[:_MAX_QUOTE]
        quoted = " ".join(first.split())
        if self._strays > 1:
            return ()
        if unit.kind is UnitKind.TOO_LONG:
            message = f"A value beginning `{quoted}` does not end within the length that is read; it is kept unread."
            return (Fault(UNKNOWN_WIRE_EVENT, Range(place.start, place.start + len(first)), message),)
        if unit.kind is UnitKind.STRAY:
            return (Fault(TRAILING_DATA, place, f"`{quoted}` is none of the API's values: kept, but not read."),)
        return (Fault(UNKNOWN_WIRE_EVENT, place, f"The API knows no event of the shape `{quoted}`: kept, not read."),)


def _may_begin(beginning: str) -> bool:
    """Whether more text must come before it is known what begins here."""
    return any(sign.startswith(beginning) and beginning != sign for sign in _STREAM_BEGINNINGS)


def _cutter(beginning: str) -> Cutter | None:
    if beginning.startswith(("{", "[")):
        return JsonValues()
    return EventLines() if beginning.startswith(_STREAM_BEGINNINGS) else None
