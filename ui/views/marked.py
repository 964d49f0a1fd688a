"""A text with its spans named at the left and what is wrong with it right below the place."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.diagnostics import Fault
from inspector.model import Span, SpanKind
from inspector.text import LineIndex, Range
from ui.views.palette import Style, style_of
from ui.views.rows import Folding, caret_place, cut_rows, kept
from ui.views.run import Line, Run, width_of
from ui.views.visible import visible_runs
from ui.views.wording import counted, help_line, title, wrapped


@dataclass(frozen=True, slots=True)
class _Row:
    """One row: code points of one span; `begins` where it is the span's first, `folded` is what was left out before."""

    range: Range
    span: Span
    begins: bool
    folded: Range | None = None


def marked_lines(
    text: str, spans: Sequence[Span], faults: Sequence[Fault], *, width: int, folding: Folding | None = None
) -> Iterator[Line]:
    """The lines that show `text`, whose spans tile it, with carets and words under each fault.

    Each span begins on a row of its own; blank text between spans is left out. A `folding` leaves out the middle of
    long spans, says how much, and never leaves out a fault.
    """
    lines = LineIndex(text)
    digits = max(len(str(len(lines))), 2)
    named = max((len(span.kind.value) for span in spans), default=0)
    room = max(width - digits - 3 - named - 2, 16)
    ordered = sorted(faults, key=lambda fault: fault.range)
    rows = list(_rows(text, spans, ordered, room, folding))
    starts = [row.range.start for row in rows]
    below: list[list[Fault]] = [[] for _ in rows]
    for fault in ordered:
        if rows:
            below[max(bisect_right(starts, fault.range.start) - 1, 0)].append(fault)
    shown = 0
    for row, wrong in zip(rows, below, strict=True):
        if row.folded is not None:
            yield (Run(f"{'':{digits}} ┊ {'':{named}}  ", Style.GUTTER), Run(_left_out(text, row.folded), Style.DIM))
        number = lines.position(row.range.start)[0]
        label = row.span.kind.value if row.begins else ""
        yield (
            Run(f"{number if number != shown else '':>{digits}} │ ", Style.GUTTER),
            Run(f"{label:{named}}  ", style_of(row.span.kind)),
            *_content(text, row, wrong),
        )
        shown = number
        gutter = Run(f"{'':{digits}} │ ", Style.GUTTER)
        for fault in wrong:
            for line in _below(text, row.range, fault, lines, room):
                yield (gutter, Run(" " * (named + 2)), *line)


def _rows(
    text: str, spans: Sequence[Span], faults: Sequence[Fault], room: int, folding: Folding | None
) -> Iterator[_Row]:
    starts = [fault.range.start for fault in faults]
    for span in spans:
        place = span.range
        if span.kind is SpanKind.TEXT and len(spans) > 1 and not text[place.start : place.start + 4096].strip():
            if place.end - place.start <= 4096:
                continue
        if place.start and text.startswith("\n", place.start) and text[place.start - 1] != "\n":
            place = Range(place.start + 1, place.end)
        pieces = [place]
        if folding is not None:
            inside = faults[bisect_right(starts, place.start - 1) : bisect_right(starts, place.end - 1)]
            pieces = kept(text, place, [fault.range for fault in inside], room, folding)
        begins, end = True, place.start
        for piece in pieces:
            folded = Range(end, piece.start) if piece.start > end else None
            for row in cut_rows(text, piece, room):
                yield _Row(row, span, begins, folded)
                begins, folded = False, None
            end = piece.end


def _left_out(text: str, folded: Range) -> str:
    feeds = text.count("\n", folded.start, folded.end)
    lines = f"{counted(feeds, 'line')}, " if feeds else ""
    return f"… {lines}{counted(len(folded), 'character')} left out (--full shows them) …"


def _content(text: str, row: _Row, wrong: Sequence[Fault]) -> Iterator[Run]:
    """A row's text: markers, children and faults in the style of their own."""
    span, place = row.span, row.range
    cuts = {place.start, place.end}
    for other in (span.inner, *(child.range for child in span.children), *(fault.range for fault in wrong)):
        cuts |= {cut for cut in (other.start, other.end) if place.start < cut < place.end}
    ordered = sorted(cuts)
    for start, end in zip(ordered, ordered[1:], strict=False):
        yield from visible_runs(text[start:end], _style_at(start, span, wrong))


def _style_at(at: int, span: Span, wrong: Sequence[Fault]) -> Style:
    for fault in wrong:
        if fault.range.start <= at < fault.range.end:
            return style_of(fault.rule.severity)
    if not span.inner.start <= at < span.inner.end:
        return Style.MARKUP
    for child in span.children:
        if child.range.start <= at < child.range.end:
            return style_of(child.kind)
    return style_of(span.kind)


def _below(text: str, row: Range, fault: Fault, lines: LineIndex, room: int) -> Iterator[Line]:
    """Carets under the place, the message beside them where it fits, else below, and the hint."""
    before, under = caret_place(text, row, fault.range)
    style = style_of(fault.rule.severity)
    carets = (Run(" " * before), Run("^" * under, style))
    said = title(fault)
    if fault.range.end > row.end + 1:
        line, column = lines.position(fault.range.end)
        said += (Run(f" (up to line {line} column {column})", Style.DIM),)
    if before + under + 1 + width_of(said) <= room:
        yield (*carets, Run(" "), *said)
    else:
        yield carets
        yield from wrapped(said, room, indent=2)
    if fault.hint:
        yield from ((Run("  "), *line) for line in wrapped(help_line(fault.hint), room - 2, indent=6))
