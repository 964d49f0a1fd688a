"""A text with its spans named at the left and what is wrong with it right below the place."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inspector.diagnostics import Fault
from inspector.model import Span
from inspector.text import LineIndex, Range
from ui.views.carets import Under, caret_lines
from ui.views.palette import Style, style_of
from ui.views.rows import Folding, caret_place
from ui.views.run import Line, Run
from ui.views.span_rows import SpanRow, SpanRows
from ui.views.visible import visible_runs
from ui.views.wording import counted, help_line, title, wrapped

_MOST_MARKED_ROWS = 3


@dataclass(frozen=True, slots=True)
class SpanNote:
    """What is said of a span in words: in place of its text, or below it."""

    lines: tuple[Line, ...]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """Carets for a fault below one row; `says` where its words follow, `goes_on` where they stand for more rows."""

    fault: Fault
    says: bool = True
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class _Columns:
    """How wide the line numbers, the kinds' names and the text are."""

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
    """The lines that show `text`, whose spans tile it, with carets and words under each fault.

    Each span begins on a row of its own; blank text between spans is left out. A `folding` leaves out the middle of
    long spans, says how much, and never leaves out a fault. `tell` may say more of a span, given its index and how
    many cells there are.
    """
    lines = LineIndex(text)
    digits, named = max(len(str(len(lines))), 2), max((len(span.kind.value) for span in spans), default=0)
    columns = _Columns(digits, named, max(width - digits - named - 5, 16))
    ordered = sorted(faults, key=lambda fault: fault.range)
    told = {index: said for index in range(len(spans)) if (said := tell(index, columns.room)) is not None}
    whole = {index for index, said in told.items() if said.replaces}
    rows = list(SpanRows(text, spans, [fault.range for fault in ordered], columns.room, folding, whole))
    number = 0
    for row, marks in zip(rows, _marks(rows, ordered), strict=True):
        said = told.get(row.index)
        if row.folded is not None:
            yield (*columns.gutter(None, bar="┊"), Run(_left_out(text, row.folded), Style.DIM))
        if row.index not in whole:
            before, number = number, lines.position(row.range.start)[0]
            yield (*_row_gutter(row, number if number != before else None, columns), *_content(text, row, marks))
            for line in _below_all(text, row.range, marks, lines, columns.room):
                yield (*columns.gutter(None), *line)
        if said is not None and row.ends:
            for index, line in enumerate(said.lines):
                begins = said.replaces and not index
                yield (*(_row_gutter(row, None, columns) if begins else columns.gutter(None)), *line)
        if row.index in whole:
            for line in (line for mark in marks for line in fault_lines(mark.fault, columns.room)):
                yield (*columns.gutter(None), *line)
    if not rows:
        yield from (line for fault in ordered for line in fault_lines(fault, width))


def fault_lines(fault: Fault, width: int) -> Iterator[Line]:
    """A fault in words alone, for a text that has no row to mark."""
    yield from wrapped(title(fault), width, indent=2)
    if fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(fault.hint), width - 2, indent=6))


def _marks(rows: Sequence[SpanRow], faults: Sequence[Fault]) -> list[list[_Mark]]:
    """What belongs below each row: carets in every row of a short fault, else in its first alone.

    A fault in what is left out, or in a line feed, belongs to the row before.
    """
    starts = [row.range.start for row in rows]
    below: list[list[_Mark]] = [[] for _ in rows]
    for fault in faults if rows else ():
        first = max(bisect_right(starts, fault.range.start) - 1, 0)
        last = max(bisect_left(starts, fault.range.end) - 1, first)
        if last - first >= _MOST_MARKED_ROWS:
            below[first].append(_Mark(fault, goes_on=True))
        else:
            for index in range(first, last + 1):
                below[index].append(_Mark(fault, says=index == last))
    return below


def _row_gutter(row: SpanRow, number: int | None, columns: _Columns) -> Line:
    return columns.gutter(number, row.span.kind.value if row.begins else "", style_of(row.span.kind))


def _left_out(text: str, folded: Range) -> str:
    feeds = text.count("\n", folded.start, folded.end)
    lines = f"{counted(feeds, 'line')}, " if feeds else ""
    return f"… {lines}{counted(len(folded), 'character')} left out (--full shows them) …"


def _content(text: str, row: SpanRow, marks: Sequence[_Mark]) -> Iterator[Run]:
    """A row's text: markers, children and faults in the style of their own."""
    span, place = row.span, row.range
    faults = [mark.fault for mark in marks]
    cuts = {place.start, place.end}
    for other in (span.inner, *(child.range for child in span.children), *(fault.range for fault in faults)):
        cuts |= {cut for cut in (other.start, other.end) if place.start < cut < place.end}
    for start, end in pairwise(sorted(cuts)):
        yield from visible_runs(text[start:end], _style_at(start, span, faults))


def _style_at(at: int, span: Span, faults: Sequence[Fault]) -> Style:
    for fault in faults:
        if fault.range.start <= at < fault.range.end:
            return style_of(fault.rule.severity)
    if not span.inner.start <= at < span.inner.end:
        return Style.MARKUP
    for child in span.children:
        if child.range.start <= at < child.range.end:
            return style_of(child.kind)
    return style_of(span.kind)


def _below_all(text: str, row: Range, marks: Sequence[_Mark], lines: LineIndex, room: int) -> Iterator[Line]:
    """What stands below a row."""
    places = []
    for mark in marks:
        said = [list(_said(mark, lines))] if mark.says else []
        places.append(Under(*caret_place(text, row, mark.fault.range), [mark.fault], said))
    if places:
        yield from caret_lines(places, room)


def _said(mark: _Mark, lines: LineIndex) -> Iterator[Line]:
    fault = mark.fault
    said = title(fault)
    if mark.goes_on:
        line, column = lines.position(fault.range.end)
        said += (Run(f" (up to line {line} column {column})", Style.DIM),)
    yield said
    if fault.hint:
        yield (Run("  "), *help_line(fault.hint))
