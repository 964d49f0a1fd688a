"""Lays what an API's values say over their raw text, as spans that tile it.

Words, whole calls and results are spans of their own. The pieces of a streamed call make one span, from the object of
its first piece to that of its last; calls whose pieces are mixed share it. All else is markup, one span from the end
of what stands before to the beginning of what comes next.
"""

from typing import assert_never

from inspector.diagnostics import Fault
from inspector.formats.api.call_reading import GrowingCall, begin, read_call
from inspector.formats.api.literals import literal
from inspector.formats.api.pieces import (
    CallPiece,
    CallsEnd,
    Oddity,
    Piece,
    RefusedCall,
    ResultPiece,
    TextPiece,
    TurnBegins,
)
from inspector.formats.api.refused import read_refused
from inspector.formats.api.units import Unit
from inspector.json_scanner import JsonKind, JsonNode
from inspector.model import Decoded, Literal, Span, SpanKind, ToolResult
from inspector.rules import json_syntax as rules
from inspector.rules.markers import TEXT_AFTER_CALL
from inspector.rules.recording import ABORTED_STREAM
from inspector.rules.rule import Severity
from inspector.segmenter.events import Flagged, ParseEvent, SpanClosed, SpanOpened
from inspector.segmenter.reading import Reading
from inspector.text import Range

LABEL = "api"
"""The label of an API's spans that have no other."""
_AFTER_CALL = "Text follows the turn's last call; many servers and agents drop it."
_AFTER_HINT = "End the generation at the call."


class Tiler:
    """Takes units and the pieces they hold, in order; gives events. `strings` is as in ShapeReader."""

    def __init__(self, *, strings: bool) -> None:
        self._strings = strings
        self._events: list[ParseEvent] = []
        self._unit_text = ""
        self._base = 0
        self._start = 0
        self._before: list[str] = []
        self._open: dict[str, GrowingCall] = {}
        self._run: Range | None = None
        self._ended: dict[str, GrowingCall] = {}
        self._laid_to = 0
        self._seen_to = 1
        self._call_seen = False
        self._after_call: Literal | None = None

    @property
    def certain_to(self) -> int:
        """How far it is certain what the text is: to the end of the last piece."""
        return self._run.end if self._run is not None else self._start

    def take(self, unit: Unit, pieces: list[Piece], faults: tuple[Fault, ...] = ()) -> list[ParseEvent]:
        """One more unit; `faults` are those of its JSON, in places of the unit."""
        self._unit_text, self._base = unit.text, unit.base
        if not unit.text.isspace():
            self._seen_to = unit.base + len(unit.text.rstrip())
        moved = [fault.moved(unit.base) for fault in faults]
        self._events += map(Flagged, moved)
        broken = [fault for fault in moved if fault.rule.severity is Severity.ERROR]
        for piece in sorted(pieces, key=_order):
            if unit.base + piece.place.start >= self._laid_to or isinstance(piece, CallsEnd | Oddity):
                self._lay(piece, unit, broken)
        rest = unit.text[max(self._start - unit.base, 0) :]
        self._before.append(rest)
        self._unit_text, self._base = "", unit.base + len(unit.text)
        return self._told()

    def close(self, missing: str = "") -> list[ParseEvent]:
        """The end of the text; `missing` says what should have come, in a sentence."""
        if missing:
            self._events.append(Flagged(Fault(ABORTED_STREAM, Range(self._seen_to - 1, self._seen_to), missing)))
        self._end_run()
        self._turn_ends()
        self._cut_markup(self._base)
        return self._told()

    def _told(self) -> list[ParseEvent]:
        events, self._events = self._events, []
        return events

    def _lay(self, piece: Piece, unit: Unit, broken: list[Fault]) -> None:
        place = piece.place.moved(unit.base)
        match piece:
            case TextPiece():
                self._end_run()
                self._words(piece, place, unit)
            case CallPiece(key=None):
                self._end_run()
                call = begin(piece, unit)
                call.add_faults(piece, unit, broken)
                self._whole(SpanKind.TOOL_CALL, place, self._calls([call]))
            case CallPiece():
                self._fragment(piece, piece.key or "", unit, broken)
            case RefusedCall():
                self._end_run()
                self._whole(SpanKind.TOOL_CALL, place, read_refused(literal(piece.node, unit), place))
                self._call_seen, self._after_call = True, None
            case ResultPiece():
                self._end_run()
                self._turn_ends()
                self._whole(SpanKind.TOOL_RESULT, place, Reading(results=(_result(piece, unit),), complete=True))
            case TurnBegins():
                self._end_run()
                self._turn_ends()
            case CallsEnd():
                self._calls_end(piece.key)
            case Oddity():
                self._events.append(Flagged(piece.fault.moved(unit.base)))
            case _:
                assert_never(piece)

    # words, whole calls and results

    def _words(self, piece: TextPiece, place: Range, unit: Unit) -> None:
        said = literal(piece.node, unit)
        decoded = Decoded((said,))
        self._cut_markup(place.start)
        span = Span(piece.kind, place, said.range, label=piece.label or LABEL)
        reading = Reading(decoded=said.text, complete=True)
        self._close(span, said.raw, reading, decoded, by_model=piece.by_model)
        is_after = self._call_seen and self._after_call is None and piece.by_model and piece.in_order
        if is_after and piece.kind is SpanKind.TEXT and said.text.strip():
            self._after_call = said

    def _turn_ends(self) -> None:
        if self._after_call is not None:
            self._events.append(Flagged(Fault(TEXT_AFTER_CALL, self._after_call.range, _AFTER_CALL, _AFTER_HINT)))
        self._call_seen, self._after_call = False, None

    def _whole(self, kind: SpanKind, place: Range, reading: Reading) -> None:
        self._cut_markup(place.start)
        inner = self._cut(place.end)
        self._close(Span(kind, place, place, label=LABEL), inner, reading)

    def _calls(self, calls: list[GrowingCall]) -> Reading:
        read = [read_call(call, strings=self._strings) for call in calls]
        self._call_seen, self._after_call = True, None
        faults = tuple(fault for _, found in read for fault in found)
        return Reading(calls=tuple(call for call, _ in read), faults=faults, complete=True)

    # streamed calls

    def _fragment(self, piece: CallPiece, key: str, unit: Unit, broken: list[Fault]) -> None:
        place = piece.place.moved(unit.base)
        call = self._open.get(key)
        if call is None:
            if all(one.looks_complete for one in self._open.values()):
                self._end_run()
            self._open_run(place)
            call = self._open[key] = begin(piece, unit)
            earlier = self._ended.get(key)
            if earlier is not None:
                call.name, call.id = call.name or earlier.name, call.id or earlier.id
                call.late = _late(place, call.name)
        else:
            call.take(piece, unit)
        call.add_faults(piece, unit, broken)
        if self._run is not None:
            self._run = Range(self._run.start, place.end)
        self._laid_to = place.end

    def _open_run(self, place: Range) -> None:
        if self._run is None:
            self._cut_markup(place.start)
            self._events.append(SpanOpened(SpanKind.TOOL_CALL, place.start, place.start, LABEL))
            self._run = place

    def _calls_end(self, key: str | None) -> None:
        if key is not None and key in self._open:
            self._open[key].has_ended = True
        if self._open and (key is None or all(call.has_ended for call in self._open.values())):
            self._end_run()

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        calls, self._open = self._open, {}
        self._ended.update(calls)
        reading = self._calls(list(calls.values()))
        inner = self._cut(run.end)
        self._events.append(SpanClosed(Span(SpanKind.TOOL_CALL, run, run, label=LABEL), inner, reading=reading))

    # the text itself

    def _close(
        self, span: Span, inner: str, reading: Reading, decoded: Decoded | None = None, *, by_model: bool = True
    ) -> None:
        self._start = self._laid_to = span.range.end
        self._events.append(SpanOpened(span.kind, span.range.start, span.inner.start, span.label))
        self._events.append(SpanClosed(span, inner, by_model=by_model, reading=reading, decoded=decoded))

    def _cut_markup(self, to: int) -> None:
        """What lies before `to` and belongs to nothing is markup."""
        place = Range(self._start, to)
        inner = self._cut(to)
        if len(place):
            self._events.append(SpanOpened(SpanKind.MARKUP, place.start, place.start, LABEL))
            self._events.append(SpanClosed(Span(SpanKind.MARKUP, place, place, label=LABEL), inner))

    def _cut(self, to: int) -> str:
        """The text from the last cut up to `to`."""
        start, self._start = self._start, to
        if start >= self._base:
            return self._unit_text[start - self._base : to - self._base]
        before = "".join(self._before)
        if to >= self._base:
            self._before = []
            return before + self._unit_text[: to - self._base]
        self._before = [before[to - start :]]
        return before[: to - start]


def _order(piece: Piece) -> tuple[bool, int]:
    """Pieces lie in the order of the text; that calls end is true of all that the value holds."""
    return isinstance(piece, CallsEnd), piece.place.start


def _late(place: Range, name: str) -> Fault:
    message = f"A piece of `{name}` comes after its call had ended: clients lose it, or fail on the call."
    return Fault(rules.TRAILING_DATA, place, message)


def _result(piece: ResultPiece, unit: Unit) -> ToolResult:
    node = piece.content
    call_id, name = _said(piece.call_id), _said(piece.name)
    if node is None:
        place = Range(piece.place.end, piece.place.end).moved(unit.base)
        return ToolResult("", place, call_id, name, piece.is_error)
    if node.kind is JsonKind.STRING:
        said = literal(node, unit)
        return ToolResult(said.text, said.range, call_id, name, piece.is_error)
    text = _joined_texts(node)
    content = node.range.of(unit.readable) if text is None else text
    return ToolResult(content, node.range.moved(unit.base), call_id, name, piece.is_error)


def _joined_texts(node: JsonNode) -> str | None:
    """The words of a list of text blocks; None where it is something else."""
    texts = [found.value.scalar for item in node.items if (found := item.member("text")) is not None]
    if len(texts) != len(node.items) or not texts:
        return None
    words = [text for text in texts if isinstance(text, str)]
    return "".join(words) if len(words) == len(texts) else None


def _said(node: JsonNode | None) -> str | None:
    return node.scalar or None if node is not None and isinstance(node.scalar, str) else None
