"""What stands below a row of the stream where something is wrong in it: carets and the words, as compilers do."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.diagnostics import Diagnostic, Fault
from inspector.text import Range
from ui.views.carets import Under, caret_lines
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.wording import counted, help_line, title

MOST_MARKED_ROWS = 3
"""A fault of more rows has its carets and words below the first, of fewer or as many below the last."""


@dataclass(frozen=True, slots=True)
class CaretMark:
    """Carets for a fault below one row; `says` where its words follow, `rows` how many rows they stand for."""

    fault: Fault
    says: bool = True
    rows: int = 1


def marks_of(rows: Sequence[Range], diagnostics: Sequence[Diagnostic]) -> list[list[CaretMark]]:
    """What belongs below each row: carets in every row of a short fault, in the first alone of one that goes on."""
    starts = [row.start for row in rows]
    below: list[list[CaretMark]] = [[] for _ in rows]
    for one in diagnostics if rows else ():
        first = max(bisect_right(starts, one.range.start) - 1, 0)
        last = max(bisect_left(starts, one.range.end) - 1, first)
        if last - first >= MOST_MARKED_ROWS:
            below[first].append(CaretMark(one.fault, rows=last - first + 1))
        else:
            for index in range(first, last + 1):
                below[index].append(CaretMark(one.fault, says=index == last))
    return below


def fault_rows(marks: Sequence[CaretMark], text: str, row: Range, cells: Sequence[int], room: int) -> Iterator[Line]:
    """The lines below a row; `cells` are those at which its characters begin."""
    places = []
    for mark in marks:
        said = [list(_said(mark, text))] if mark.says else []
        places.append(Under(*_under(mark.fault.range, row, cells), [mark.fault], said))
    if places:
        yield from caret_lines(places, room)


def _under(place: Range, row: Range, cells: Sequence[int]) -> tuple[int, int]:
    start = min(max(place.start, row.start), row.end)
    end = min(max(place.end, start), row.end)
    before = cells[start - row.start]
    return before, max(cells[end - row.start] - before, 1)


def _said(mark: CaretMark, text: str) -> Iterator[Line]:
    fault = mark.fault
    feeds = text.count("\n", fault.range.start, fault.range.end) if mark.rows > 1 else 0
    length = f"{counted(feeds + 1, 'line')}, " if feeds else ""
    goes_on = (Run(f" (over {length}{counted(len(fault.range), 'character')})", Style.DIM),) if mark.rows > 1 else ()
    yield (*title(fault), *goes_on)
    if fault.hint:
        yield (Run("  "), *help_line(fault.hint))
