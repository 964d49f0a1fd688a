r"""A text split into rows, with its spans named at the left and carets below each fault.

The text `<tool_call>\n{"name": "f",}\n</tool_call>`, with one span and a fault at the comma, becomes

     1 │ tool_call  <tool_call>
     2 │            {"name": "f",}
       │                        ^
       │            error[J104] trailing-comma: A comma appears before `}`, but nothing follows it.
     3 │            </tool_call>

in four steps. `SpanRows` cuts each span into ranges of the text that fit into a row: at line feeds, at the width, after
a space if there is one in the row's second half; a line feed between two spans ends the row before it, and white space
between spans has no row. With a `Folding`, the middle of a long span is one row that says how much is left out, but a
fault is never in it. `marks_of` puts each fault below the rows that it covers: carets in each, the message below the
last; a fault of more rows than `MAX_MARKED_ROWS` has carets in the first row alone. `_content` cuts a row where a
marker, a child or a fault begins or ends, and styles the pieces: a fault wins over a marker, a marker over the span.
`below_row` draws the carets: places with the same cells share theirs, and if several faults have messages, the carets
are numbered, so that no message separates carets from their text.

Ranges are code points, places on the screen are cells: a character of two cells has two carets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from msgspec import Struct

from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.model import Span, SpanKind
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.views.styled_text import (
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
    width_of,
    wrapped,
)

_MAX_GAP_CHARS = 4096
MAX_MARKED_ROWS = 3
"""A fault in more rows has carets only in the first one."""


class Folding(Struct, frozen=True):
    """The number of rows shown at the beginning and at the end of a long span."""

    head: int = 12
    tail: int = 6


def cut_rows(text: str, range_: Range, room: int) -> Iterator[Range]:
    """The rows of at most `room` cells that show `range_`, without the line feeds between them."""
    start = range_.start
    while start < range_.end:
        feed = text.find("\n", start, range_.end)
        end = feed if feed >= 0 else range_.end
        yield from _cut_line(text, start, end, room)
        start = end + 1 if feed >= 0 else end


def shown_ranges(text: str, span: Range, faults: Iterable[Range], room: int, folding: Folding) -> list[Range]:
    """The visible parts of a long span: its beginning, its end, and the text around every fault."""
    head_end = _rows_down(text, span.start, span.end, folding.head, room)
    tail_start = _rows_up(text, span.end, span.start, folding.tail, room)
    if tail_start <= head_end or _is_small(text, head_end, tail_start, room):
        return [span]
    ranges = [Range(span.start, head_end), Range(tail_start, span.end)]
    for fault in faults:
        ranges += (_around(text, span, point, room) for point in {fault.start, max(fault.end - 1, fault.start)})
    return _joined_ranges(text, sorted(ranges), room)


def caret_place(text: str, row: Range, fault: Range) -> tuple[int, int]:
    """The start of the carets under a row, in cells, and their number: at least one, even for an empty range."""
    start = min(max(fault.start, row.start), row.end)
    before = cell_width(visible_line(text[row.start : start]))
    under = cell_width(visible_line(text[start : min(fault.end, row.end)]))
    return before, max(under, 1)


def _cut_line(text: str, start: int, end: int, room: int) -> Iterator[Range]:
    if start == end:
        yield Range(start, end)
    offset = start
    while offset < end:
        row_end = offset + _fitting(text[offset : min(offset + room, end)], room)
        if row_end < end:
            blank = text.rfind(" ", offset + room // 2, row_end)
            row_end = blank + 1 if blank >= 0 else row_end
        yield Range(offset, row_end)
        offset = row_end


def _fitting(piece: str, room: int) -> int:
    """The number of code points of a piece, in visible form, that fit into `room` cells; at least one."""
    if piece.isascii() and piece.isprintable():
        return len(piece)
    taken = 0
    for index, character in enumerate(piece):
        taken += cell_width(visible_line(character))
        if taken > room:
            return max(index, 1)
    return len(piece)


def _rows_down(text: str, offset: int, end: int, rows: int, room: int) -> int:
    for _ in range(rows):
        feed = text.find("\n", offset, min(offset + room, end))
        offset = feed + 1 if feed >= 0 else min(offset + room, end)
    return offset


def _rows_up(text: str, offset: int, start: int, rows: int, room: int) -> int:
    for _ in range(rows):
        feed = text.rfind("\n", max(offset - room, start), max(offset - 1, start))
        offset = feed + 1 if feed >= 0 else max(offset - room, start)
    return offset


def _around(text: str, span: Range, point: int, room: int) -> Range:
    """The line that contains `point`, or the part of it that fits into two rows."""
    start = max(text.rfind("\n", span.start, point) + 1, point - room, span.start)
    feed = text.find("\n", point, min(point + room, span.end))
    return Range(start, feed + 1 if feed >= 0 else min(point + room, span.end))


def _is_small(text: str, start: int, end: int, room: int) -> bool:
    """Whether leaving out this range would save almost nothing."""
    return end - start <= 2 * room and text.count("\n", start, end) <= 2


def _joined_ranges(text: str, ranges: Sequence[Range], room: int) -> list[Range]:
    joined = [ranges[0]]
    for range_ in ranges[1:]:
        last = joined[-1]
        if range_.start <= last.end or _is_small(text, last.end, range_.start, room):
            joined[-1] = Range(last.start, max(last.end, range_.end))
        else:
            joined.append(range_)
    return joined


class SpanRow(Struct, frozen=True):
    """One row of the span with this index, perhaps its first or last; `folded` is the range left out before it."""

    index: int
    span: Span
    range: Range
    begins: bool = False
    ends: bool = False
    folded: Range | None = None


class SpanRows(Struct, frozen=True):
    """Splits a text with spans into rows of `room` cells, folded or not; each span in `whole` is one row.

    `faults` are the ranges of its faults, in order; none of them is folded.
    """

    text: str
    spans: Sequence[Span]
    faults: Sequence[Range]
    room: int
    folding: Folding | None = None
    whole: Collection[int] = ()

    def __iter__(self) -> Iterator[SpanRow]:
        starts = [fault.start for fault in self.faults]
        for index, span in enumerate(self.spans):
            if index in self.whole:
                yield SpanRow(index, span, span.range, begins=True, ends=True)
            elif len(self.spans) == 1 or not self._is_gap(span):
                shown = Range(first_row_start(self.text, span), span.range.end)
                inside = self.faults[bisect_left(starts, shown.start) : bisect_left(starts, shown.end)]
                folding = self.folding
                pieces = shown_ranges(self.text, shown, inside, self.room, folding) if folding else [shown]
                yield from self._rows_of(index, span, pieces)

    def _rows_of(self, index: int, span: Span, pieces: Sequence[Range]) -> Iterator[SpanRow]:
        begins, end = True, pieces[0].start
        for piece in pieces:
            folded = Range(end, piece.start) if piece.start > end else None
            for row in cut_rows(self.text, piece, self.room):
                yield SpanRow(index, span, row, begins, row.end >= span.range.end, folded)
                begins, folded = False, None
            end = piece.end

    def _is_gap(self, span: Span) -> bool:
        """Whether a span is only white space between two others."""
        range_ = span.range
        return span.kind is SpanKind.TEXT and len(range_) <= _MAX_GAP_CHARS and not range_.of(self.text).strip()


def first_row_start(text: str, span: Span) -> int:
    """The offset of a span's first row: a leading line feed belongs to the previous row, if there is one."""
    start = span.range.start
    return start + (start > 0 and text.startswith("\n", start) and text[start - 1] != "\n")


class SpanNote(Struct, frozen=True):
    """A note on a span: instead of its text, or below it."""

    lines: tuple[Line, ...]
    replaces: bool = False


class CaretMark(Struct, frozen=True):
    """Carets for a fault below one row; with `says`, its message follows; `rows` is the number of rows represented."""

    fault: Fault
    says: bool = True
    rows: int = 1


class _Columns(Struct, frozen=True):
    """The widths of the line numbers, of the kinds' names, and of the text."""

    digits: int
    named: int
    room: int

    def gutter(self, number: int | None, label: str = "", style: Style = Style.PLAIN, *, bar: str = "│") -> Line:
        shown = "" if number is None else str(number)
        return (Run(f"{shown:>{self.digits}} {bar} ", Style.GUTTER), Run(f"{label:{self.named}}  ", style))


def marked_lines(
    text: str,
    spans: Sequence[Span],
    faults: Sequence[Fault],
    *,
    width: int,
    folding: Folding | None = None,
    tell: Callable[[int, int], SpanNote | None] = lambda index, room: None,
) -> Iterator[Line]:
    """The lines that show `text`, whose spans tile it, with carets and a message under each fault.

    Each span begins on a new row; white space between spans is left out. With `folding`, the middle of long spans is
    left out, except faults, and a line shows how much. `tell` may return a note on a span, given its index and the
    available cells.
    """
    lines = LineIndex(text)
    digits, named = max(len(str(len(lines))), 2), max((len(span.kind.value) for span in spans), default=0)
    columns = _Columns(digits, named, max(width - digits - named - 5, 16))
    ordered = sorted(faults, key=lambda fault: fault.range)
    notes = {index: note for index in range(len(spans)) if (note := tell(index, columns.room)) is not None}
    whole = {index for index, note in notes.items() if note.replaces}
    rows = list(SpanRows(text, spans, [fault.range for fault in ordered], columns.room, folding, whole))
    number = 0
    for row, marks in zip(rows, marks_of([row.range for row in rows], ordered), strict=True):
        note = notes.get(row.index)
        if row.folded is not None:
            yield (*columns.gutter(None, bar="┊"), Run(_left_out(text, row.folded), Style.DIM))
        if row.index not in whole:
            before, number = number, lines.position(row.range.start)[0]
            yield (*_row_gutter(row, number if number != before else None, columns), *_content(text, row, marks))
            cells = partial(caret_place, text, row.range)
            for line in below_row(marks, cells, partial(_mark_lines, lines=lines), columns.room):
                yield (*columns.gutter(None), *line)
        if note is not None and row.ends:
            for index, line in enumerate(note.lines):
                begins = note.replaces and not index
                yield (*(_row_gutter(row, None, columns) if begins else columns.gutter(None)), *line)
        if row.index in whole:
            for line in (line for mark in marks for line in fault_lines(mark.fault, columns.room)):
                yield (*columns.gutter(None), *line)
    if not rows:
        yield from (line for fault in ordered for line in fault_lines(fault, width))


def fault_lines(fault: Fault, width: int) -> Iterator[Line]:
    """A fault without carets, for a text that has no row to mark."""
    yield from wrapped(title(fault), width, indent=2)
    if fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(fault.hint), width - 2, indent=6))


def marks_of(rows: Sequence[Range], faults: Iterable[Fault]) -> list[list[CaretMark]]:
    """The marks below each row: carets in every row of a short fault, but only in the first row of a long one.

    A fault in a range that is left out, or in a line feed, belongs to the previous row.
    """
    starts = [row.start for row in rows]
    below: list[list[CaretMark]] = [[] for _ in rows]
    for fault in faults if rows else ():
        first = max(bisect_right(starts, fault.range.start) - 1, 0)
        last = max(bisect_left(starts, fault.range.end) - 1, first)
        if last - first >= MAX_MARKED_ROWS:
            below[first].append(CaretMark(fault, rows=last - first + 1))
        else:
            for index in range(first, last + 1):
                below[index].append(CaretMark(fault, says=index == last))
    return below


def _row_gutter(row: SpanRow, number: int | None, columns: _Columns) -> Line:
    return columns.gutter(number, row.span.kind.value if row.begins else "", style_of(row.span.kind))


def _left_out(text: str, folded: Range) -> str:
    feeds = text.count("\n", folded.start, folded.end)
    lines = f"{counted(feeds, 'line')}, " if feeds else ""
    return f"… {lines}{counted(len(folded), 'character')} left out (--full shows them) …"


def _content(text: str, row: SpanRow, marks: Sequence[CaretMark]) -> Iterator[Run]:
    """A row's text: markers, children and faults in their own styles."""
    span, shown = row.span, row.range
    faults = [mark.fault for mark in marks]
    cuts = {shown.start, shown.end}
    for other in (span.inner, *(child.range for child in span.children), *(fault.range for fault in faults)):
        cuts |= {cut for cut in (other.start, other.end) if shown.start < cut < shown.end}
    for start, end in pairwise(sorted(cuts)):
        yield from visible_runs(text[start:end], _style_at(start, span, faults))


def _style_at(offset: int, span: Span, faults: Sequence[Fault]) -> Style:
    for fault in faults:
        if fault.range.start <= offset < fault.range.end:
            return style_of(fault.rule.severity)
    if not span.inner.start <= offset < span.inner.end:
        return Style.MARKUP
    for child in span.children:
        if child.range.start <= offset < child.range.end:
            return style_of(child.kind)
    return style_of(span.kind)


def below_row(
    marks: Sequence[CaretMark],
    cells_of: Callable[[Range], tuple[int, int]],
    lines_of: Callable[[CaretMark], Iterable[Line]],
    room: int,
) -> Iterator[Line]:
    """What is below a row: its carets, and the lines on each fault that ends in it.

    `cells_of` returns the cells before the carets of a range, and their number.
    """
    labels = [
        CaretLabel(*cells_of(mark.fault.range), [mark.fault], [list(lines_of(mark))] if mark.says else [])
        for mark in marks
    ]
    if labels:
        yield from caret_lines(labels, room)


def _mark_lines(mark: CaretMark, *, lines: LineIndex) -> Iterator[Line]:
    fault = mark.fault
    heading = title(fault)
    if mark.rows > 1:
        line, column = lines.position(fault.range.end)
        heading += (Run(f" (up to line {line} column {column})", Style.DIM),)
    yield heading
    if fault.hint:
        yield (Run("  "), *help_line(fault.hint))


class CaretLabel(Struct, frozen=True):
    """A faulty place in a row: `cells` cells after the first `before` cells, its faults, and the lines on each."""

    before: int
    cells: int
    faults: Sequence[Fault]
    said: Sequence[Sequence[Line]]

    @property
    def style(self) -> Style:
        """The style of the worst fault."""
        return style_of(min((fault.rule.severity for fault in self.faults), key=list(Severity).index))


def caret_lines(labels: Sequence[CaretLabel], room: int) -> Iterator[Line]:
    """Carets under the places of one row, then the lines on each in at most `room` cells.

    Places with the same cells share their carets, even if one of them continues in other rows. If several places have
    lines, the carets are numbered, so that no lines separate them from their text; a single place has its lines
    directly after its carets, on the same line if they fit.
    """
    labels = _joined(labels)
    spoken = [label for label in labels if label.said]
    if len(spoken) <= 1:
        yield from _drawn([_CaretRun(label, "", room) for label in labels if not label.said])
        for label in spoken:
            yield from _single_label(label, room)
        return
    numbers = {id(label): str(number) for number, label in enumerate(spoken, 1)}
    yield from _drawn([_CaretRun(label, numbers.get(id(label), ""), room) for label in labels])
    for label in spoken:
        lead = f"{numbers[id(label)]} "
        for words in label.said:
            for index, line in enumerate(words):
                begins = Run(" " * len(lead) if index else lead, label.style)
                yield from _wrapped((begins, *line), room, len(lead))


class _CaretRun:
    """Carets with their number, and the cells of both; the number is after the carets, or before at a row's end."""

    def __init__(self, caret: CaretLabel, label: str, room: int) -> None:
        self.caret = caret
        self.suffix = f" {label}" if label and caret.before + caret.cells + len(label) < room else ""
        self.prefix = f"{label} " if label and not self.suffix and caret.before > len(label) else ""
        self.start = caret.before - len(self.prefix)
        self.end = caret.before + caret.cells + len(self.suffix)

    def __iter__(self) -> Iterator[Run]:
        style = self.caret.style
        yield from (Run(text, style) for text in (self.prefix, "^" * self.caret.cells, self.suffix) if text)


def _joined(labels: Sequence[CaretLabel]) -> list[CaretLabel]:
    by_cells: dict[tuple[int, int], list[CaretLabel]] = {}
    for caret in labels:
        by_cells.setdefault((caret.before, caret.cells), []).append(caret)
    return [
        CaretLabel(
            *cells, [fault for label in some for fault in label.faults], [said for label in some for said in label.said]
        )
        for cells, some in by_cells.items()
    ]


def _drawn(carets: Sequence[_CaretRun]) -> Iterator[Line]:
    """The carets in as few lines as possible without overlaps."""
    lines: list[tuple[int, list[Run]]] = []
    for caret in carets:
        line = next((index for index, (end, _) in enumerate(lines) if end < caret.start or not end), len(lines))
        if line == len(lines):
            lines.append((0, []))
        end, runs = lines[line]
        lines[line] = caret.end, [*runs, Run(" " * (caret.start - end)), *caret]
    yield from (tuple(runs) for _, runs in lines)


def _single_label(label: CaretLabel, room: int) -> Iterator[Line]:
    carets = (Run(" " * label.before), Run("^" * label.cells, label.style))
    rest = [list(words) for words in label.said]
    if len(rest) == 1 and label.before + label.cells + 1 + width_of(rest[0][0]) <= room:
        yield (*carets, Run(" "), *rest[0].pop(0))
    else:
        yield carets
    for line in (line for words in rest for line in words):
        yield from _wrapped(line, room, 0)


def _wrapped(line: Line, room: int, lead: int) -> Iterator[Line]:
    return wrapped(line, room, indent=lead + (2 if line[0].text.strip() else 8))
