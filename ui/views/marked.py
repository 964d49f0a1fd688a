"""A text with its spans named at the left and what is wrong with it right below the place."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inspector.diagnostics import Fault
from inspector.model import Span, SpanKind
from inspector.text import LineIndex, Range
from ui.views.palette import Style, style_of
from ui.views.rows import Folding, caret_place, cut_rows, kept
from ui.views.run import Line, Run, width_of
from ui.views.visible import visible_runs
from ui.views.wording import counted, help_line, title, wrapped

_LONGEST_GAP = 4096
_MOST_MARKED_ROWS = 3


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a span in words: in place of its text, or below it."""

    lines: tuple[Line, ...]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a span; `begins` and `ends` the span; `folded` is what was left out before, `told` in its place."""

    range: Range
    span: Span
    begins: bool = False
    ends: bool = False
    folded: Range | None = None


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
    tell: Callable[[int, int], Told | None] = lambda index, room: None,
) -> Iterator[Line]:
    """The lines that show `text`, whose spans tile it, with carets and words under each fault.

    Each span begins on a row of its own; blank text between spans is left out. A `folding` leaves out the middle of
    long spans, says how much, and never leaves out a fault. `tell` may say more of a span, given its index and a number of cells.
    """
    lines = LineIndex(text)
    digits, named = max(len(str(len(lines))), 2), max((len(span.kind.value) for span in spans), default=0)
    columns = _Columns(digits, named, max(width - digits - named - 5, 16))
    ordered = sorted(faults, key=lambda fault: fault.range)
    told = {index: said for index in range(len(spans)) if (said := tell(index, columns.room)) is not None}
    rows = list(_rows(text, spans, told, ordered, columns.room, folding))
    below = _below_each(rows, ordered)
    number = 0
    for (index, row), marks in zip(rows, below, strict=True):
        if row.folded is not None:
            yield (*columns.gutter(None, bar="┊"), Run(_left_out(text, row.folded), Style.DIM))
        said = told.get(index)
        label, style = row.span.kind.value if row.begins else "", style_of(row.span.kind)
        if said is not None and said.replaces:
            yield from _told(said, columns, label, style)
            continue
        before, number = number, lines.position(row.range.start)[0]
        yield (*columns.gutter(number if number != before else None, label, style), *_content(text, row, marks))
        for mark in marks:
            yield from ((*columns.gutter(None), *line) for line in _below(text, row.range, mark, lines, columns.room))
        if said is not None and row.ends:
            yield from _told(said, columns, "", style)
    if not rows:
        yield from (line for fault in ordered for line in fault_lines(fault, width))


def fault_lines(fault: Fault, width: int) -> Iterator[Line]:
    """A fault in words alone, for a text that has no row to mark."""
    yield from wrapped(title(fault), width, indent=2)
    if fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(fault.hint), width - 2, indent=6))


def _told(said: Told, columns: _Columns, label: str, style: Style) -> Iterator[Line]:
    for line in said.lines:
        yield (*columns.gutter(None, label, style), *line)
        label = ""


@dataclass(frozen=True, slots=True)
class _Mark:
    """Carets for a fault below one row; `says` where its words follow, `goes_on` where it ends in no row shown."""

    fault: Fault
    says: bool = True
    goes_on: bool = False


def _below_each(rows: Sequence[tuple[int, _Row]], faults: Sequence[Fault]) -> list[list[_Mark]]:
    """What belongs below each row: carets in every row of a short fault, else in its first alone.

    A fault in what is left out, or in a line feed, belongs to the row before.
    """
    starts = [row.range.start for _, row in rows]
    below: list[list[_Mark]] = [[] for _ in rows]
    if not rows:
        return below
    for fault in faults:
        first = max(bisect_right(starts, fault.range.start) - 1, 0)
        last = max(bisect_left(starts, fault.range.end) - 1, first)
        if last - first >= _MOST_MARKED_ROWS:
            below[first].append(_Mark(fault, goes_on=True))
            continue
        for index in range(first, last + 1):
            below[index].append(_Mark(fault, says=index == last))
    return below


def _rows(
    text: str,
    spans: Sequence[Span],
    told: Mapping[int, Told],
    faults: Sequence[Fault],
    room: int,
    folding: Folding | None,
) -> Iterator[tuple[int, _Row]]:
    """The rows of all spans, each with the index of its span."""
    starts = [fault.range.start for fault in faults]
    for index, span in enumerate(spans):
        if index in told and told[index].replaces:
            yield index, _Row(span.range, span, begins=True, ends=True)
            continue
        if len(spans) > 1 and _is_gap(text, span):
            continue
        place = _without_feed_before(text, span.range)
        inside = faults[bisect_left(starts, place.start) : bisect_left(starts, place.end)]
        pieces = kept(text, place, [fault.range for fault in inside], room, folding) if folding else [place]
        yield from ((index, row) for row in _rows_of(text, span, pieces, room))


def _rows_of(text: str, span: Span, pieces: Sequence[Range], room: int) -> Iterator[_Row]:
    begins, end = True, pieces[0].start
    for piece in pieces:
        folded = Range(end, piece.start) if piece.start > end else None
        for row in cut_rows(text, piece, room):
            yield _Row(row, span, begins, row.end >= span.range.end, folded)
            begins, folded = False, None
        end = piece.end


def _is_gap(text: str, span: Span) -> bool:
    """Whether a span is only the blank text between two others."""
    return span.kind is SpanKind.TEXT and len(span.range) <= _LONGEST_GAP and not span.range.of(text).strip()


def _without_feed_before(text: str, place: Range) -> Range:
    """A span's place without the line feed that only ends the row of the span before it."""
    if place.start and text.startswith("\n", place.start) and text[place.start - 1] != "\n":
        return Range(place.start + 1, place.end)
    return place


def _left_out(text: str, folded: Range) -> str:
    feeds = text.count("\n", folded.start, folded.end)
    lines = f"{counted(feeds, 'line')}, " if feeds else ""
    return f"… {lines}{counted(len(folded), 'character')} left out (--full shows them) …"


def _content(text: str, row: _Row, marks: Sequence[_Mark]) -> Iterator[Run]:
    """A row's text: markers, children and faults in the style of their own."""
    span, place = row.span, row.range
    faults = [mark.fault for mark in marks]
    cuts = {place.start, place.end}
    for other in (span.inner, *(child.range for child in span.children), *(fault.range for fault in faults)):
        cuts |= {cut for cut in (other.start, other.end) if place.start < cut < place.end}
    ordered = sorted(cuts)
    for start, end in pairwise(ordered):
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


def _below(text: str, row: Range, mark: _Mark, lines: LineIndex, room: int) -> Iterator[Line]:
    """Carets under the place, the message beside them where it fits, else below, and the hint."""
    fault = mark.fault
    before, under = caret_place(text, row, fault.range)
    carets = (Run(" " * before), Run("^" * under, style_of(fault.rule.severity)))
    if not mark.says:
        yield carets
        return
    said = title(fault)
    if mark.goes_on:
        line, column = lines.position(fault.range.end)
        said += (Run(f" (up to line {line} column {column})", Style.DIM),)
    if before + under + 1 + width_of(said) <= room:
        yield (*carets, Run(" "), *said)
    else:
        yield carets
        yield from wrapped(said, room, indent=2)
    if fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(fault.hint), room - 2, indent=6))
