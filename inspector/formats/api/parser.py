"""A FormatParser for an API's raw JSON: maps what its values contain onto spans that tile the raw text.

Text that turns out not to be JSON goes to the dialect's own parser.

Theory of operation. The first characters decide: `{` or `[` begins JSON values (a document, or one per line), `data:`,
`event:`, `id:`, `retry:` or a colon an event stream; anything else is text, which goes to the text side as it comes.
The first value in a unit must have one of the API's shapes, otherwise all of it is text. Until that is decided
everything is held back, and nothing reported: one value, or what an event stream sends before its first. From then on
only the unit that has not ended is held back (see `units`). If that first value is not strict JSON, the whole text is
held back to its end and read as one value. A value that is longer than `MAX_UNIT` code points is text, or, once values
were read, markup with a fault.

Spans and faults depend on the units alone, hence not on how the text was chunked.

Texts, whole calls and results are separate spans. The pieces of a streamed call make one span, from the object of its
first piece to that of its last; calls with interleaved pieces share one span. Everything else is markup: one span from
the end of the previous span to the beginning of the next.
"""

from collections.abc import Callable
from typing import assert_never

from weaklink.inspector.apis.located_pieces import (
    ApiCallPiece,
    ApiFault,
    ApiPiece,
    ApiShapeReader,
    CallsEnd,
    RefusedCall,
    ResultPiece,
    TextPiece,
    TurnBegins,
)
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.api.call_reading import GrowingCall, begin, literal, read_call
from weaklink.inspector.formats.api.refused_calls import read_refused
from weaklink.inspector.formats.api.units import Cutter, EventLines, JsonValues, Unit, UnitKind
from weaklink.inspector.formats.format import NewParser
from weaklink.inspector.json_scanner import JsonKind, JsonNode, JsonResult, read_json
from weaklink.inspector.model import Decoded, Literal, Role, Span, SpanKind, ToolResult
from weaklink.inspector.rules import json_syntax as rules
from weaklink.inspector.rules.json_syntax import TRAILING_DATA
from weaklink.inspector.rules.markers import TEXT_AFTER_CALL
from weaklink.inspector.rules.recording import ABORTED_STREAM, UNKNOWN_WIRE_EVENT
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmenter.events import Flagged, FormatParser, ParseEvent, ParseResult, SpanClosed, SpanOpened
from weaklink.inspector.text import Range

_STREAM_BEGINNINGS = ("data:", "event:", "id:", "retry:", ":")
_MAX_BEGINNING_CHARS = max(map(len, _STREAM_BEGINNINGS))
_MAX_QUOTE = 40
_MARK = "\ufeff"
LABEL = "api"
"""The label of an API's spans that have no other label."""

_AFTER_CALL = "Text follows the turn's last call; many servers and agents drop it."
_AFTER_HINT = "End the generation at the call."


def api_or_text(shapes: Callable[[], ApiShapeReader], text_side: NewParser) -> NewParser:
    """Creates parsers that read an API's JSON if the model's text is that, and else read it as `text_side` does.

    Turns that the model did not write are always text: a tool's result may well look like an API's message.
    """

    def new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        text = text_side(prompt, role)
        return ApiOrText(shapes, text) if role is Role.ASSISTANT else text

    return new_parser


def may_be_api(text: str) -> bool:
    """Whether a whole text begins like an API's JSON, or is too short to decide."""
    beginning = _beginning(text)
    return _may_begin(beginning) or beginning.startswith(("{", "[", *_STREAM_BEGINNINGS))


class ApiOrText:
    """A FormatParser for an API's JSON; any other text goes to `text_side`."""

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
        """The parser of text that is not an API's JSON."""
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
            beginning = _beginning(text)
            if _may_begin(beginning):
                return []
            if text.startswith(_MARK):
                self._early.append(Unit(UnitKind.STRUCTURE, 0, _MARK, Range(0, 0), _MARK))
            self._cutter = _cutter(beginning, len(text) - len(text := text.removeprefix(_MARK)))
        if self._cutter is None:
            return self._fall_back()
        return self._read(self._cutter, text)

    def close(self) -> list[ParseEvent]:
        """See FormatParser."""
        events: list[ParseEvent] = []
        last = self._cutter.close() if self._cutter is not None and not self._is_text else None
        if last is not None:
            events += self._read_unit(last)
        if self._tiler is not None:
            is_missing = self._shapes.expects_end and not self._is_cut
            missing = "The stream ends here without the API's end sign." if is_missing else ""
            return [*events, *self._tiler.close(missing)]
        if not self._is_text:
            events += self._fall_back()
        return [*events, *self._text_side.close()]

    def _read(self, cutter: Cutter, text: str) -> list[ParseEvent]:
        events: list[ParseEvent] = []
        position = 0
        while position < len(text):
            unit, position = cutter.read(text, position)
            if unit is not None:
                events += self._read_unit(unit)
                if self._is_text:
                    break
        return events

    def _fall_back(self) -> list[ParseEvent]:
        """Pass the text to the text side: it is not an API's JSON."""
        self._is_text = True
        text, self._undecided, self._early = "".join(self._undecided), [], []
        return self._text_side.feed(text) if text else []

    # units

    def _read_unit(self, unit: Unit) -> list[ParseEvent]:
        if self._tiler is not None:
            return self._tiler.feed(unit, *self._pieces(unit))
        if unit.kind is UnitKind.STRUCTURE:
            self._early.append(unit)
            return []
        reading = read_json(unit.readable, unit.json) if unit.kind is UnitKind.VALUE else None
        if reading is None or self._cutter is None:
            return self._fall_back()
        if not reading.strict and not self._cutter.by_line and not unit.cut:
            if self._pieces_in(unit, reading, self._new_shapes()) is None:
                return self._fall_back()
            self._cutter.hold_rest(unit)
            return []
        pieces = self._pieces_in(unit, reading, self._shapes)
        if pieces is None:
            return self._fall_back()
        self._undecided = []
        self._cutter.by_line = self._cutter.by_line or "\n" not in unit.text.strip()
        self._tiler = Tiler()
        events = [event for early in self._early for event in self._tiler.feed(early, [])]
        self._early = []
        return [*events, *self._tiler.feed(unit, pieces, reading.faults)]

    def _pieces(self, unit: Unit) -> tuple[list[ApiPiece], tuple[Fault, ...]]:
        """The pieces in a unit, and the faults of its JSON."""
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
                pieces = self._pieces_in(unit, reading, self._shapes)
                return pieces or [], reading.faults if pieces is not None else (*reading.faults, *self._stray(unit))

    @staticmethod
    def _pieces_in(unit: Unit, reading: JsonResult, shapes: ApiShapeReader) -> list[ApiPiece] | None:
        """The pieces in the values of a unit (mostly one; malformed JSON may have several); None if all are unknown."""
        all_pieces: list[ApiPiece] = []
        is_known = False
        for node in reading.nodes:
            pieces = shapes.read(node, unit.readable)
            if pieces is not None:
                is_known = True
                all_pieces += pieces
        return all_pieces if is_known else None

    def _stray(self, unit: Unit) -> tuple[Fault, ...]:
        """The fault of a unit that is not the API's; reported for the first such unit only."""
        self._strays += 1
        stray_range = unit.json if len(unit.json) else Range(0, len(unit.text))
        first = stray_range.of(unit.text)[:_MAX_QUOTE]
        quoted = " ".join(first.split())
        if self._strays > 1:
            return ()
        if unit.kind is UnitKind.TOO_LONG:
            message = f"The value that begins with `{quoted}` is longer than the limit; it is kept but not parsed."
            return (Fault(UNKNOWN_WIRE_EVENT, Range(stray_range.start, stray_range.start + len(first)), message),)
        if unit.kind is UnitKind.STRAY:
            return (Fault(TRAILING_DATA, stray_range, f"`{quoted}` is not a value of the API: kept, not parsed."),)
        return (
            Fault(UNKNOWN_WIRE_EVENT, stray_range, f"The API has no event of the shape `{quoted}`: kept, not parsed."),
        )


def _beginning(text: str) -> str:
    """The first characters after white space and a byte order mark; they decide."""
    return text.removeprefix(_MARK).lstrip()[:_MAX_BEGINNING_CHARS]


def _may_begin(beginning: str) -> bool:
    """Whether more text is needed to decide what begins here."""
    return any(sign.startswith(beginning) and beginning != sign for sign in _STREAM_BEGINNINGS)


def _cutter(beginning: str, base: int) -> Cutter | None:
    if beginning.startswith(("{", "[")):
        return JsonValues(base)
    return EventLines(base) if beginning.startswith(_STREAM_BEGINNINGS) else None


class Tiler:
    """Takes units and their pieces, in order; returns events."""

    def __init__(self) -> None:
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
        """The position up to which the spans are certain: the end of the last piece."""
        return self._run.end if self._run is not None else self._start

    def feed(self, unit: Unit, pieces: list[ApiPiece], faults: tuple[Fault, ...] = ()) -> list[ParseEvent]:
        """Take one more unit; `faults` are those of its JSON, with ranges in the unit."""
        self._unit_text, self._base = unit.text, unit.base
        if not unit.text.isspace():
            self._seen_to = unit.base + len(unit.text.rstrip())
        moved = [fault.moved(unit.base) for fault in faults]
        self._events += map(Flagged, moved)
        broken = [fault for fault in moved if fault.rule.severity is Severity.ERROR]
        # The end of calls applies after all pieces of the value.
        for piece in sorted(pieces, key=lambda piece: (isinstance(piece, CallsEnd), piece.range.start)):
            if unit.base + piece.range.start >= self._laid_to or isinstance(piece, CallsEnd | ApiFault):
                self._lay(piece, unit, broken)
        rest = unit.text[max(self._start - unit.base, 0) :]
        self._before.append(rest)
        self._unit_text, self._base = "", unit.base + len(unit.text)
        return self._take_events()

    def close(self, missing: str = "") -> list[ParseEvent]:
        """Handle the end of the text; `missing` is the sentence for a missing end sign, or ""."""
        if missing:
            self._events.append(Flagged(Fault(ABORTED_STREAM, Range(self._seen_to - 1, self._seen_to), missing)))
        self._end_run()
        self._turn_ends()
        self._cut_markup(self._base)
        return self._take_events()

    def _take_events(self) -> list[ParseEvent]:
        events, self._events = self._events, []
        return events

    def _lay(self, piece: ApiPiece, unit: Unit, broken: list[Fault]) -> None:
        piece_range = piece.range.moved(unit.base)
        match piece:
            case TextPiece():
                self._end_run()
                self._words(piece, piece_range, unit)
            case ApiCallPiece(key=None):
                self._end_run()
                call = begin(piece, unit)
                call.add_faults(piece, unit, broken)
                self._whole(SpanKind.TOOL_CALL, piece_range, self._calls([call]))
            case ApiCallPiece():
                self._fragment(piece, piece.key or "", unit, broken)
            case RefusedCall():
                self._end_run()
                self._whole(SpanKind.TOOL_CALL, piece_range, read_refused(piece, unit))
                self._call_seen, self._after_call = True, None
            case ResultPiece():
                self._end_run()
                self._turn_ends()
                self._whole(
                    SpanKind.TOOL_RESULT, piece_range, ParseResult(results=(_result(piece, unit),), complete=True)
                )
            case TurnBegins():
                self._end_run()
                self._turn_ends()
            case CallsEnd():
                self._calls_end(piece.key)
            case ApiFault():
                self._events.append(Flagged(piece.fault.moved(unit.base)))
            case _:
                assert_never(piece)

    # texts, whole calls and results

    def _words(self, piece: TextPiece, piece_range: Range, unit: Unit) -> None:
        content = literal(piece.node, unit)
        decoded = Decoded((content,))
        self._cut_markup(piece_range.start)
        span = Span(piece.kind, piece_range, content.range, label=piece.label or LABEL)
        reading = ParseResult(decoded=content.text, complete=True)
        self._close(span, content.raw, reading, decoded, by_model=piece.by_model)
        is_after = self._call_seen and self._after_call is None and piece.by_model and piece.in_order
        if is_after and piece.kind is SpanKind.TEXT and content.text.strip():
            self._after_call = content

    def _turn_ends(self) -> None:
        if self._after_call is not None:
            self._events.append(Flagged(Fault(TEXT_AFTER_CALL, self._after_call.range, _AFTER_CALL, _AFTER_HINT)))
        self._call_seen, self._after_call = False, None

    def _whole(self, kind: SpanKind, span_range: Range, reading: ParseResult) -> None:
        self._cut_markup(span_range.start)
        inner = self._cut(span_range.end)
        self._close(Span(kind, span_range, span_range, label=LABEL), inner, reading)

    def _calls(self, calls: list[GrowingCall]) -> ParseResult:
        read = [read_call(call) for call in calls]
        self._call_seen, self._after_call = True, None
        faults = tuple(fault for _, call_faults in read for fault in call_faults)
        return ParseResult(calls=tuple(call for call, _ in read), faults=faults, complete=True)

    # streamed calls

    def _fragment(self, piece: ApiCallPiece, key: str, unit: Unit, broken: list[Fault]) -> None:
        piece_range = piece.range.moved(unit.base)
        call = self._open.get(key)
        if call is None:
            if all(call.looks_complete for call in self._open.values()):
                self._end_run()
            if self._run is None:
                self._cut_markup(piece_range.start)
                self._events.append(SpanOpened(SpanKind.TOOL_CALL, piece_range.start, piece_range.start, LABEL))
                self._run = piece_range
            call = self._open[key] = begin(piece, unit)
            earlier = self._ended.get(key)
            if earlier is not None:
                call.name, call.id = call.name or earlier.name, call.id or earlier.id
                message = (
                    f"A piece of `{call.name}` comes after the end of its call: clients lose it or fail on the call."
                )
                call.late = Fault(rules.TRAILING_DATA, piece_range, message)
        else:
            call.add(piece, unit)
        call.add_faults(piece, unit, broken)
        if self._run is not None:
            self._run = Range(self._run.start, piece_range.end)
        self._laid_to = piece_range.end

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
        self, span: Span, inner: str, reading: ParseResult, decoded: Decoded | None = None, *, by_model: bool = True
    ) -> None:
        self._start = self._laid_to = span.range.end
        self._events.append(SpanOpened(span.kind, span.range.start, span.inner.start, span.label))
        self._events.append(SpanClosed(span, inner, by_model=by_model, reading=reading, decoded=decoded))

    def _cut_markup(self, to: int) -> None:
        """Make the text before `to` that belongs to no span markup."""
        markup_range = Range(self._start, to)
        inner = self._cut(to)
        if len(markup_range):
            self._events.append(SpanOpened(SpanKind.MARKUP, markup_range.start, markup_range.start, LABEL))
            self._events.append(SpanClosed(Span(SpanKind.MARKUP, markup_range, markup_range, label=LABEL), inner))

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


def _result(piece: ResultPiece, unit: Unit) -> ToolResult:
    node = piece.content
    if node is None:
        content, content_range = "", Range(piece.range.end, piece.range.end).moved(unit.base)
    elif node.kind is JsonKind.STRING:
        content, content_range = literal(node, unit).text, literal(node, unit).range
    else:
        blocks = [member.value.scalar for item in node.items if (member := item.member("text")) is not None]
        texts = [text for text in blocks if isinstance(text, str)]
        is_joined = bool(texts) and len(texts) == len(node.items)
        content, content_range = (
            "".join(texts) if is_joined else node.range.of(unit.readable),
            node.range.moved(unit.base),
        )
    return ToolResult(content, content_range, _filled_text(piece.call_id), _filled_text(piece.name), piece.is_error)


def _filled_text(node: JsonNode | None) -> str | None:
    return node.scalar or None if node is not None and isinstance(node.scalar, str) else None
