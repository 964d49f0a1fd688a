"""The rows that show one block of a stream: a glyph for each character, boxed markers, carets and lanes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property, partial
from itertools import accumulate

from msgspec import Struct

from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.model import Role, Span, SpanKind
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import WIRE_PREFIX
from weaklink.ui.views.dissect.dissection import DissectedPart, touching
from weaklink.ui.views.dissect.outline import TextBlock
from weaklink.ui.views.dissect.timing import StreamOptions, lane_lines
from weaklink.ui.views.marked_text import CaretMark, below_row, first_row_start, marks_of
from weaklink.ui.views.styled_text import (
    LINE_FEED,
    TAB,
    Line,
    Run,
    Style,
    cell_width,
    counted,
    help_line,
    style_of,
    title,
    visible_line,
    visible_runs,
)

GUTTER = 12
"""The number of cells before the text of a row."""

_LABEL = GUTTER - 3

_LABELS = {
    SpanKind.TEXT: "text",
    SpanKind.REASONING: "reasoning",
    SpanKind.TOOL_CALL: "call",
    SpanKind.TOOL_RESULT: "result",
    SpanKind.TOOL_DEFINITIONS: "tools",
    SpanKind.MARKUP: "markup",
}
"""The gutter's label for each kind of span."""

OPEN, CLOSE = "⟨", "⟩"
"""The brackets around a marker; they are not characters of the stream."""

_BLANKS = re.compile(r"\s+")
_TAB_BLANK = " " * len(TAB)
_UNFINISHED = "\"'="  # the end of a marker that a name follows within the same tag
_MAX_MARKER_CHARS = 200  # a longer structure, such as a whole header, is not boxed


def span_word(kind: SpanKind, role: Role) -> str:
    """What a span is called beside the stream: its kind; any text that a tool sent is a result."""
    return "result" if kind is SpanKind.TEXT and role is Role.TOOL else _LABELS[kind]


class RowKind(StrEnum):
    """The kind of a row of the stream."""

    HEAD = "head"
    TEXT = "text"
    FAULT = "fault"
    LANE = "lane"


class StreamRow(Struct, frozen=True):
    """One row: `range` is the range of characters that a text row shows, in the part with this index, or None."""

    kind: RowKind
    line: Line
    turn: int
    part: int | None = None
    range: Range | None = None


class BlockRows(Struct, frozen=True, dict=True):
    """Lays out one block of a part in `width` cells."""

    part: DissectedPart
    block: TextBlock
    width: int
    options: StreamOptions

    @cached_property
    def spans(self) -> Sequence[Span]:
        """The spans that overlap the block, perhaps with some around it."""
        return self.part.spans_near(Range(self.block.start, self.block.end))

    def __iter__(self) -> Iterator[StreamRow]:
        if not self.part.text:
            yield self._row((*self._gutter(), Run("(empty)", Style.DIM)), Range(0, 0))
            yield from self._below(self.part.diagnostics, Range(0, 0), range(1))
            return
        text, block = self.part.text, Range(self.block.start, self.block.end)
        boxes = boxes_in(self.part, block)
        ranges = list(self._places(boxes))
        number, _ = self.part.lines.position(block.start)
        wrong = self._wrong(block)
        marks = marks_of(ranges, [diagnostic.fault for diagnostic in wrong])
        for shown, mark in zip(ranges, marks, strict=True):
            begins_line = not shown.start or text[shown.start - 1] == "\n"
            yield self._row(
                (*self._label(shown, number if begins_line else None), *self._runs(shown, boxes, wrong)), shown
            )
            number += text.endswith("\n", shown.start, shown.end)
            cells = edges(text, shown, boxes, white_space=self.options.white_space)
            for line in fault_rows(mark, text, shown, cells, self.room):
                yield self._row((*self._gutter(), *line), None, RowKind.FAULT)
            for name, line in lane_lines(self.part.source, shown, cells, self.options, self.room):
                yield self._row((*self._gutter(name, Style.DIM), *line), None, RowKind.LANE)

    @property
    def room(self) -> int:
        """The cells available for a row's text; one is reserved for a line feed."""
        return max(self.width - GUTTER - 1, 8)

    def _wrong(self, block: Range) -> Sequence[Diagnostic]:
        is_end = self.block.is_last
        return [diagnostic for diagnostic in self.part.wrong_in(block) if is_end or diagnostic.range.start < block.end]

    def _below(self, wrong: Sequence[Diagnostic], shown: Range, cells: Sequence[int]) -> Iterator[StreamRow]:
        for mark in marks_of([shown], [diagnostic.fault for diagnostic in wrong]):
            for line in fault_rows(mark, self.part.text, shown, cells, self.room):
                yield self._row((*self._gutter(), *line), None, RowKind.FAULT)

    def _places(self, boxes: Sequence[Range]) -> Iterator[Range]:
        """The characters of each row: lines, split where a span begins and where the width ends."""
        text, end = self.part.text, self.block.end
        room = self.room if self.options.wrap else end - self.block.start + 1
        starts = iter(self._breaks())
        following = next(starts, end)
        start = self.block.start
        while start < end:
            while following <= start:
                following = next(starts, end)
            feed = text.find("\n", start, end)
            limit = min(feed + 1 if feed >= 0 else end, following)
            stop = row_end(text, start, limit, room, boxes, white_space=self.options.white_space)
            yield Range(start, stop)
            start = stop

    def _breaks(self) -> Iterator[int]:
        """The offsets where spans begin; a leading line feed belongs to the previous row."""
        text, block = self.part.text, self.block
        for _, span in touching(self.spans, Range(block.start, block.end)):
            start = first_row_start(text, span)
            if start > block.start:
                yield start
        yield block.end

    def _label(self, shown: Range, number: int | None) -> Line:
        """The kind of the span that begins in a row, or else the number of the line that begins there."""
        for _, span in touching(self.spans, shown):
            if shown.start == first_row_start(self.part.text, span):
                return self._gutter(span_word(span.kind, self.part.role), style_of(span.kind))
        return self._gutter("" if number is None else f"{number:>{_LABEL}}", Style.GUTTER)

    def _gutter(self, label: str = "", style: Style = Style.GUTTER) -> Line:
        return (Run(f"{label:{_LABEL}.{_LABEL}}", style), Run(" │ ", Style.GUTTER))

    def _row(self, line: Line, shown: Range | None, kind: RowKind = RowKind.TEXT) -> StreamRow:
        return StreamRow(kind, line, self.block.turn, self.part.index, shown)

    def _runs(self, shown: Range, boxes: Sequence[Range], diagnostics: Sequence[Diagnostic]) -> Iterator[Run]:
        """A row's text: boxed markers, spans and faults, each in its own style."""
        here = [box for box in boxes if box.overlaps(shown)]
        wrong = [diagnostic for diagnostic in diagnostics if diagnostic.range.overlaps(shown)]
        cuts = {
            cut for range_ in (*here, *(diagnostic.range for diagnostic in wrong)) for cut in (range_.start, range_.end)
        }
        cuts |= set(_span_cuts(self.spans, shown))
        opened, closed = {box.start for box in here}, {box.end for box in here}
        for piece in pieces(shown, cuts):
            style = self._style(piece.start, here, wrong)
            if piece.start in opened:
                yield Run(OPEN, Style.MARKUP)
            yield from glyph_runs(piece.of(self.part.text), style, white_space=self.options.white_space)
            if piece.end in closed:
                yield Run(CLOSE, Style.MARKUP)

    def _style(self, offset: int, boxes: Sequence[Range], wrong: Sequence[Diagnostic]) -> Style:
        for diagnostic in wrong:
            if diagnostic.range.start <= offset < diagnostic.range.end:
                return style_of(diagnostic.rule.severity)
        if any(box.start <= offset < box.end for box in boxes):
            return Style.MARKUP
        span = innermost(self.spans, offset)
        return style_of(span.kind) if span else Style.PLAIN


def _span_cuts(spans: Sequence[Span], shown: Range) -> Iterator[int]:
    """The start and end of the spans that overlap a row, and of their children."""
    for _, span in touching(spans, shown):
        yield from (span.range.start, span.range.end)
        yield from _span_cuts(span.children, shown)


def glyph(character: str, *, white_space: bool) -> str:
    """The glyph of one character; white space is visible only with `white_space`."""
    if character == "\n":
        return LINE_FEED if white_space else ""
    if character == "\t":
        return TAB if white_space else _TAB_BLANK
    if character == " ":
        return "·" if white_space else " "
    shown = visible_line(character)
    if white_space and shown == character and character.isspace():
        return "⍽" + " " * (cell_width(character) - 1)
    return shown


def glyph_runs(text: str, style: Style, *, white_space: bool) -> Line:
    """The glyphs of a text as runs; substitute glyphs have a separate style."""
    if not white_space:
        return visible_runs(text.replace("\n", "").replace("\t", _TAB_BLANK), style)
    runs: list[Run] = []
    start = 0
    for match in _BLANKS.finditer(text):
        runs += visible_runs(text[start : match.start()], style)
        runs.append(Run("".join(glyph(blank, white_space=True) for blank in match[0]), Style.DIM))
        start = match.end()
    return (*runs, *visible_runs(text[start:], style))


def is_plain(text: str) -> bool:
    """Whether every character of a text is one cell wide and its own glyph; spaces are ignored."""
    return text.isascii() and text.isprintable()


def edges(text: str, row: Range, boxes: Sequence[Range], *, white_space: bool) -> Sequence[int]:
    """The cells, from 0, at which the characters of a row begin, and finally where the row ends.

    A box's opening bracket belongs to its first character, its closing one to its last.
    """
    shown = row.of(text)
    inside = [box for box in boxes if box.overlaps(row)]
    if not inside and is_plain(shown):
        return range(len(shown) + 1)
    widths = [_width(character, white_space=white_space) for character in shown]
    for box in inside:
        if box.start >= row.start:
            widths[box.start - row.start] += 1
        if box.end <= row.end:
            widths[box.end - 1 - row.start] += 1
    return list(accumulate(widths, initial=0))


def row_end(text: str, start: int, limit: int, room: int, boxes: Sequence[Range], *, white_space: bool) -> int:
    """The end of a row that begins at `start` and takes at most `room` cells; it has at least one character.

    It ends after a space if there is one in its second half. A line feed takes no cell, and ends the row.
    """
    piece = text[start : min(limit, start + room + 1)]
    in_box = any(box.start < start + len(piece) and start < box.end for box in boxes)
    if in_box or not is_plain(piece.removesuffix("\n")):
        end = start + _fitting(text, start, limit, room, boxes, white_space=white_space)
    else:
        end = start + len(piece) if len(piece) <= room or piece.endswith("\n") else start + room
    if end >= limit or text[end - 1] == "\n":
        return end
    blank = text.rfind(" ", start + room // 2, end)
    return blank + 1 if blank >= 0 and not _cuts(boxes, blank + 1) else end


def _fitting(text: str, start: int, limit: int, room: int, boxes: Sequence[Range], *, white_space: bool) -> int:
    opened = {box.start for box in boxes}
    closed = {box.end - 1 for box in boxes}
    taken = 0
    for index in range(start, limit):
        character = text[index]
        if character == "\n":
            return index + 1 - start
        taken += _width(character, white_space=white_space) + (index in opened) + (index in closed)
        if taken > room:
            return max(index - start, 1)
    return limit - start


def _width(character: str, *, white_space: bool) -> int:
    if " " <= character <= "~":
        return 1
    return cell_width(glyph(character, white_space=white_space))


def _cuts(boxes: Sequence[Range], offset: int) -> bool:
    return any(box.start < offset < box.end for box in boxes)


def pieces(range_: Range, cuts: Iterable[int]) -> Iterator[Range]:
    """A range in pieces, split at every offset of `cuts` that is inside."""
    start = range_.start
    for cut in sorted({cut for cut in cuts if range_.start < cut < range_.end}):
        yield Range(start, cut)
        start = cut
    if start < range_.end:
        yield Range(start, range_.end)


def boxes_in(part: DissectedPart, range_: Range) -> list[Range]:
    """The markers of a part that overlap `range_`, in order, without the white space around them."""
    if part.name.startswith(WIRE_PREFIX):
        return []
    return sorted(box for box in _boxes(part.text, part.spans_near(range_), range_) if box.start < box.end)


def innermost(spans: Sequence[Span], offset: int) -> Span | None:
    """The smallest span that contains the character at `offset`."""
    smallest: Span | None = None
    while True:
        inside = next((span for _, span in touching(spans, Range(offset, offset + 1))), None)
        if inside is None:
            return smallest
        smallest, spans = inside, inside.children


def _boxes(text: str, spans: Sequence[Span], range_: Range) -> Iterator[Range]:
    for _, span in touching(spans, range_):
        if span.kind is SpanKind.MARKUP:
            yield from _trimmed(text, span.range)
            continue
        yield from _trimmed(text, Range(span.range.start, min(span.inner.start, span.range.end)))
        yield from _boxes(text, span.children, range_)
        yield from _trimmed(text, Range(max(span.inner.end, span.range.start), span.range.end))


def _trimmed(text: str, marker: Range) -> Iterator[Range]:
    written = marker.of(text) if len(marker) <= _MAX_MARKER_CHARS else ""
    if written and written[-1] not in _UNFINISHED:
        start = marker.start + len(written) - len(written.lstrip())
        yield Range(start, start + len(written.strip()))


def fault_rows(marks: Sequence[CaretMark], text: str, row: Range, cells: Sequence[int], room: int) -> Iterator[Line]:
    """The lines below a row; `cells` are the cells at which its characters begin."""
    return below_row(marks, partial(_under, row=row, cells=cells), partial(_message_lines, text=text), room)


def _under(fault: Range, row: Range, cells: Sequence[int]) -> tuple[int, int]:
    start = min(max(fault.start, row.start), row.end)
    end = min(max(fault.end, start), row.end)
    before = cells[start - row.start]
    return before, max(cells[end - row.start] - before, 1)


def _message_lines(mark: CaretMark, text: str) -> Iterator[Line]:
    fault = mark.fault
    feeds = text.count("\n", fault.range.start, fault.range.end) if mark.rows > 1 else 0
    length = f"{counted(feeds + 1, 'line')}, " if feeds else ""
    goes_on = (Run(f" (over {length}{counted(len(fault.range), 'character')})", Style.DIM),) if mark.rows > 1 else ()
    yield (*title(fault), *goes_on)
    if fault.hint:
        yield (Run("  "), *help_line(fault.hint))
