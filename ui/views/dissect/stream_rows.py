"""The rows that show one block of a stream: its exact text, what is wrong below it, and the lanes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from inspector.diagnostics import Diagnostic
from inspector.model import Role, Span, SpanKind
from inspector.text import Range
from ui.views.dissect.blocks import Block
from ui.views.dissect.carets import fault_rows, marks_of
from ui.views.dissect.dissected_part import DissectedPart
from ui.views.dissect.glyphs import CLOSE, OPEN, edges, glyph_runs, pieces, row_end
from ui.views.dissect.lanes import lane_lines
from ui.views.dissect.markers import boxes_in, innermost
from ui.views.dissect.options import StreamOptions
from ui.views.dissect.touching import touching
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run

GUTTER = 12
"""How many cells stand before the text of a row."""

_LABEL = GUTTER - 3
LABELS = {
    SpanKind.TEXT: "text",
    SpanKind.REASONING: "reasoning",
    SpanKind.TOOL_CALL: "call",
    SpanKind.TOOL_RESULT: "result",
    SpanKind.TOOL_DEFINITIONS: "tools",
    SpanKind.MARKUP: "markup",
}
"""What the gutter calls each kind of span."""


class RowKind(StrEnum):
    """What a row of the stream holds."""

    HEAD = "head"
    TEXT = "text"
    FAULT = "fault"
    LANE = "lane"


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One row: `place` are the characters that a text row shows, of the part with this index; else None."""

    kind: RowKind
    line: Line
    turn: int
    part: int | None = None
    place: Range | None = None


@dataclass(frozen=True, slots=True)
class BlockRows:
    """Lays out one block of a part in `width` cells; `spans` are those that touch it, perhaps with some beside them."""

    part: DissectedPart
    block: Block
    width: int
    options: StreamOptions
    spans: Sequence[Span] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spans", self.part.spans_near(Range(self.block.start, self.block.end)))

    def __iter__(self) -> Iterator[StreamRow]:
        if not self.part.text:
            yield self._row((*self._gutter(), Run("(empty)", Style.DIM)), Range(0, 0))
            yield from self._below(self.part.diagnostics, Range(0, 0), range(1))
            return
        text, block = self.part.text, Range(self.block.start, self.block.end)
        boxes = boxes_in(self.part, block)
        places = list(self._places(boxes))
        number, _ = self.part.lines.position(block.start)
        wrong = self._wrong(block)
        marks = marks_of(places, wrong)
        for place, mark in zip(places, marks, strict=True):
            begins_line = not place.start or text[place.start - 1] == "\n"
            yield self._row(
                (*self._label(place, number if begins_line else None), *self._runs(place, boxes, wrong)), place
            )
            number += text.endswith("\n", place.start, place.end)
            cells = edges(text, place, boxes, white_space=self.options.white_space)
            for line in fault_rows(mark, text, place, cells, self.room):
                yield self._row((*self._gutter(), *line), None, RowKind.FAULT)
            for name, line in lane_lines(self.part.source, place, cells, self.options, self.room):
                yield self._row((*self._gutter(name, Style.DIM), *line), None, RowKind.LANE)

    @property
    def room(self) -> int:
        """The cells that a row's text may take; one is kept for a line feed."""
        return max(self.width - GUTTER - 1, 8)

    def _wrong(self, block: Range) -> Sequence[Diagnostic]:
        is_end = self.block.is_last
        return [one for one in self.part.wrong_in(block) if is_end or one.range.start < block.end]

    def _below(self, wrong: Sequence[Diagnostic], place: Range, cells: Sequence[int]) -> Iterator[StreamRow]:
        for mark in marks_of([place], wrong):
            for line in fault_rows(mark, self.part.text, place, cells, self.room):
                yield self._row((*self._gutter(), *line), None, RowKind.FAULT)

    def _places(self, boxes: Sequence[Range]) -> Iterator[Range]:
        """The characters of each row: lines, cut where a span begins and where the room ends."""
        text, end = self.part.text, self.block.end
        room = self.room if self.options.wrap else end - self.block.start + 1
        starts = iter(self._breaks())
        following = next(starts, end)
        at = self.block.start
        while at < end:
            while following <= at:
                following = next(starts, end)
            feed = text.find("\n", at, end)
            limit = min(feed + 1 if feed >= 0 else end, following)
            stop = row_end(text, at, limit, room, boxes, white_space=self.options.white_space)
            yield Range(at, stop)
            at = stop

    def _breaks(self) -> Iterator[int]:
        """Where spans begin; one that begins with a line feed leaves that to the row before."""
        text, block = self.part.text, self.block
        for _, span in touching(self.spans, Range(block.start, block.end)):
            start = _first_row(text, span)
            if start > block.start:
                yield start
        yield block.end

    def _label(self, place: Range, number: int | None) -> Line:
        """The kind of the span that begins in a row, else the number of the line that does."""
        for _, span in touching(self.spans, place):
            if place.start == _first_row(self.part.text, span):
                return self._gutter(self._kind(span.kind), style_of(span.kind))
        return self._gutter("" if number is None else f"{number:>{_LABEL}}", Style.GUTTER)

    def _kind(self, kind: SpanKind) -> str:
        return "result" if kind is SpanKind.TEXT and self.part.role is Role.TOOL else LABELS[kind]

    def _gutter(self, label: str = "", style: Style = Style.GUTTER) -> Line:
        return (Run(f"{label:{_LABEL}.{_LABEL}}", style), Run(" │ ", Style.GUTTER))

    def _row(self, line: Line, place: Range | None, kind: RowKind = RowKind.TEXT) -> StreamRow:
        return StreamRow(kind, line, self.block.turn, self.part.index, place)

    def _runs(self, place: Range, boxes: Sequence[Range], found: Sequence[Diagnostic]) -> Iterator[Run]:
        """A row's text: boxed markers, spans and faults, each in the style of its own."""
        here = [box for box in boxes if box.start < place.end and place.start < box.end]
        wrong = [one for one in found if one.range.start < place.end and place.start < one.range.end]
        cuts = {cut for one in (*here, *(one.range for one in wrong)) for cut in (one.start, one.end)}
        cuts |= set(_span_cuts(self.spans, place))
        opened, closed = {box.start for box in here}, {box.end for box in here}
        for piece in pieces(place, cuts):
            style = self._style(piece.start, here, wrong)
            if piece.start in opened:
                yield Run(OPEN, Style.MARKUP)
            yield from glyph_runs(piece.of(self.part.text), style, white_space=self.options.white_space)
            if piece.end in closed:
                yield Run(CLOSE, Style.MARKUP)

    def _style(self, at: int, boxes: Sequence[Range], wrong: Sequence[Diagnostic]) -> Style:
        for one in wrong:
            if one.range.start <= at < one.range.end:
                return style_of(one.rule.severity)
        if any(box.start <= at < box.end for box in boxes):
            return Style.MARKUP
        span = innermost(self.spans, at)
        return style_of(span.kind) if span else Style.PLAIN


def _first_row(text: str, span: Span) -> int:
    """Where the first row of a span begins: a line feed at its beginning belongs to the row before, if there is one."""
    start = span.range.start
    return start + (start > 0 and text.startswith("\n", start) and text[start - 1] != "\n")


def _span_cuts(spans: Sequence[Span], place: Range) -> Iterator[int]:
    """Where the spans that touch a row begin and end, their children's too."""
    for _, span in touching(spans, place):
        yield from (span.range.start, span.range.end)
        yield from _span_cuts(span.children, place)
