"""A diagnostic as a good compiler prints it: what is wrong, where, the line with carets, and the repair."""

from collections.abc import Iterator

from inspector.diagnostics import Diagnostic, Fault, Fix
from inspector.text import LineIndex, Range
from ui.views.cells import cell_width, fitting, fitting_end
from ui.views.palette import Style, style_of
from ui.views.run import Line, Run
from ui.views.visible import LINE_FEED, visible_line, visible_runs
from ui.views.wording import counted, help_line, title, wrapped

_SMALL_FIX = 200
_INDENT = 6


def diagnostic_lines(
    diagnostic: Diagnostic, text: str, *, width: int, file: str = "", lines: LineIndex | None = None
) -> Iterator[Line]:
    """The lines of a diagnostic; `text` is that of the part it lies in, `lines` its lines where they are known.

    `file` names the text where it is a file of its own; else the turn and the part say where it lies.
    """
    place, fault = diagnostic.location, diagnostic.fault
    index = lines or LineIndex(text)
    line, column = index.position(fault.range.start)
    if file:
        where = f"{visible_line(file)}:{line}:{column}"
    else:
        where = f"turn {place.turn}, {visible_line(place.part)}, line {line} column {column}"
    digits = len(str(index.position(fault.range.end)[0]))
    yield from wrapped(title(fault), width, indent=_INDENT)
    yield (Run(f"{'':{digits}}--> ", Style.GUTTER), Run(where))
    yield _gutter(digits)
    yield from excerpt(index, fault.range, style_of(fault.rule.severity), digits=digits, width=width)
    for related in fault.related:
        yield from wrapped((Run("note: ", Style.INFO), Run(visible_line(related.message))), width, indent=_INDENT)
        yield from excerpt(index, related.range, Style.INFO, digits=digits, width=width, mark="-")
    yield from _repair(index, fault, digits, width)


def excerpt(
    index: LineIndex, place: Range, style: Style, *, digits: int, width: int, mark: str = "^"
) -> Iterator[Line]:
    """The line that holds `place` with carets under it; of a place over several lines, the first and the last."""
    first = index.position(place.start)[0]
    last = index.position(max(place.end - 1, place.start))[0]
    room = width - digits - 3
    start = index.line(first)
    over = Range(place.start, place.end if first == last else start.end + 1)
    yield from _marked(index, first, start, over, style, digits, room, mark)
    if last - first > 1:
        yield (Run(f"{'…':>{digits}} | ", Style.GUTTER), Run(counted(last - first - 1, "line"), Style.DIM))
    if last > first:
        end = index.line(last)
        yield from _marked(index, last, end, Range(end.start, place.end), style, digits, room, mark)


def _marked(
    index: LineIndex, number: int, line: Range, place: Range, style: Style, digits: int, room: int, mark: str
) -> Iterator[Line]:
    yield (Run(f"{number:>{digits}} | ", Style.GUTTER), *_window(index.text, line, place, room, style))
    before, under = _carets(index.text, line, place, room)
    yield (*_gutter(digits), Run(" " * (before + 1)), Run(mark * under, style))


def _window(text: str, line: Range, place: Range, room: int, style: Style) -> Line:
    """As much of a line as fits, around the place; what is cut off is `…`."""
    shown = _shown(text, line, place, room)
    lead = (Run("…", Style.DIM),) if shown.start > line.start else ()
    tail = (Run("…", Style.DIM),) if shown.end < line.end else ()
    inner = Range(max(place.start, shown.start), min(max(place.end, shown.start), shown.end))
    feed = (Run(LINE_FEED, Style.CONTROL),) if place.start <= line.end < place.end and not tail else ()
    return (
        *lead,
        *visible_runs(text[shown.start : min(inner.start, shown.end)]),
        *visible_runs(inner.of(text), style),
        *visible_runs(text[max(inner.end, inner.start) : shown.end] if inner.start < shown.end else ""),
        *feed,
        *tail,
    )


def _carets(text: str, line: Range, place: Range, room: int) -> tuple[int, int]:
    shown = _shown(text, line, place, room)
    start = min(place.start, shown.end)
    before = cell_width(visible_line(text[shown.start : start])) + (shown.start > line.start)
    under = cell_width(visible_line(text[start : min(place.end, shown.end)]))
    reaches_feed = place.start <= line.end < place.end and shown.end == line.end
    return before, max(under + reaches_feed, 1)


def _shown(text: str, line: Range, place: Range, room: int) -> Range:
    """The part of a line that fits into `room` cells, two kept for `…`; most of the rest goes before the place."""
    room = max(room - 2, 8)
    start = min(place.start, line.end)
    if len(line) <= room and cell_width(visible_line(line.of(text))) <= room:
        return line
    before = text[max(line.start, start - room) : start]
    after = text[start : min(line.end, start + room)]
    under = min(cell_width(visible_line(after[: max(place.end - start, 1)])), room * 2 // 3)
    behind = min(cell_width(visible_line(after)), under + room // 4)
    head = len(before) - _fitting_end(before, room - behind)
    tail_room = room - cell_width(visible_line(before[len(before) - head :]))
    return Range(start - head, start + _fitting(after, tail_room))


def _fitting(text: str, room: int) -> int:
    seen = visible_line(text)
    if seen == text:
        return fitting(text, room)
    taken = 0
    for index, character in enumerate(text):
        taken += cell_width(visible_line(character))
        if taken > room:
            return index
    return len(text)


def _fitting_end(text: str, room: int) -> int:
    seen = visible_line(text)
    if seen == text:
        return fitting_end(text, room)
    taken = 0
    for index in range(len(text) - 1, -1, -1):
        taken += cell_width(visible_line(text[index]))
        if taken > room:
            return index + 1
    return 0


def _repair(index: LineIndex, fault: Fault, digits: int, width: int) -> Iterator[Line]:
    if fault.hint:
        yield from wrapped(help_line(fault.hint), width, indent=_INDENT)
    if fault.fix is not None:
        yield from _fix_lines(index, fault.fix, digits, width)


def _fix_lines(index: LineIndex, fix: Fix, digits: int, width: int) -> Iterator[Line]:
    """The line before and after the edits, where they lie on one line and near each other."""
    start, end = fix.edits[0].range.start, fix.edits[-1].range.end
    number = index.position(start)[0]
    line = index.line(number)
    if end > line.end or end - start > _SMALL_FIX or any("\n" in edit.text for edit in fix.edits):
        return
    shown = _shown(index.text, line, Range(start, end), width - digits - 3 - sum(len(e.text) for e in fix.edits))
    lead, tail = "…" if shown.start > line.start else "", "…" if shown.end < line.end else ""
    if shown.end < end:
        return
    new, at = "", shown.start
    for edit in fix.edits:
        new += index.text[at : edit.range.start] + edit.text
        at = edit.range.end
    new += index.text[at : shown.end]
    yield (Run(f"{number:>{digits}} - ", Style.REMOVED), *visible_runs(f"{lead}{shown.of(index.text)}{tail}", Style.REMOVED))
    yield (Run(f"{number:>{digits}} + ", Style.ADDED), *visible_runs(f"{lead}{new}{tail}", Style.ADDED))


def _gutter(digits: int) -> Line:
    return (Run(f"{'':{digits}} |", Style.GUTTER),)
