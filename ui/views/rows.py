"""Cuts a text into the rows of a screen, and chooses what to leave out of a long one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspector.text import Range
from ui.views.cells import cell_width
from ui.views.visible import visible_line


@dataclass(frozen=True, slots=True)
class Folding:
    """How many rows of a long span are shown at its beginning and at its end."""

    head: int = 12
    tail: int = 6


def cut_rows(text: str, place: Range, room: int) -> Iterator[Range]:
    """The rows of at most `room` cells that show `place`, without the line feeds between them."""
    at = place.start
    while at < place.end:
        feed = text.find("\n", at, place.end)
        end = feed if feed >= 0 else place.end
        yield from _cut_line(text, at, end, room)
        at = end + 1 if feed >= 0 else end


def kept(text: str, span: Range, faults: Iterable[Range], room: int, folding: Folding) -> list[Range]:
    """The parts of a long span that are shown: its beginning, its end, and the surroundings of every fault."""
    head_end = _rows_down(text, span.start, span.end, folding.head, room)
    tail_start = _rows_up(text, span.end, span.start, folding.tail, room)
    if tail_start <= head_end or _is_small(text, head_end, tail_start, room):
        return [span]
    wanted = [Range(span.start, head_end), Range(tail_start, span.end)]
    for fault in faults:
        wanted += (_around(text, span, point, room) for point in {fault.start, max(fault.end - 1, fault.start)})
    return _joined(text, sorted(wanted), room)


def caret_place(text: str, row: Range, fault: Range) -> tuple[int, int]:
    """Where the carets under a row begin, in cells, and how many there are: at least one, also for an empty range."""
    start = min(max(fault.start, row.start), row.end)
    before = cell_width(visible_line(text[row.start : start]))
    under = cell_width(visible_line(text[start : min(fault.end, row.end)]))
    return before, max(under, 1)


def _cut_line(text: str, start: int, end: int, room: int) -> Iterator[Range]:
    if start == end:
        yield Range(start, end)
    at = start
    while at < end:
        row_end = at + _fitting(text[at : min(at + room, end)], room)
        if row_end < end:
            blank = text.rfind(" ", at + room // 2, row_end)
            row_end = blank + 1 if blank >= 0 else row_end
        yield Range(at, row_end)
        at = row_end


def _fitting(piece: str, room: int) -> int:
    """How many code points of a piece, made visible, fit into `room` cells; at least one."""
    if piece.isascii() and piece.isprintable():
        return len(piece)
    taken = 0
    for index, character in enumerate(piece):
        taken += cell_width(visible_line(character))
        if taken > room:
            return max(index, 1)
    return len(piece)


def _rows_down(text: str, at: int, end: int, rows: int, room: int) -> int:
    for _ in range(rows):
        feed = text.find("\n", at, min(at + room, end))
        at = feed + 1 if feed >= 0 else min(at + room, end)
    return at


def _rows_up(text: str, at: int, start: int, rows: int, room: int) -> int:
    for _ in range(rows):
        feed = text.rfind("\n", max(at - room, start), max(at - 1, start))
        at = feed + 1 if feed >= 0 else max(at - room, start)
    return at


def _around(text: str, span: Range, point: int, room: int) -> Range:
    """The line that holds `point`, or as much of it as two rows hold."""
    start = max(text.rfind("\n", span.start, point) + 1, point - room, span.start)
    feed = text.find("\n", point, min(point + room, span.end))
    return Range(start, feed + 1 if feed >= 0 else min(point + room, span.end))


def _is_small(text: str, start: int, end: int, room: int) -> bool:
    """Whether leaving this out would save next to nothing."""
    return end - start <= 2 * room and text.count("\n", start, end) <= 2


def _joined(text: str, wanted: Sequence[Range], room: int) -> list[Range]:
    joined = [wanted[0]]
    for place in wanted[1:]:
        last = joined[-1]
        if place.start <= last.end or _is_small(text, last.end, place.start, room):
            joined[-1] = Range(last.start, max(last.end, place.end))
        else:
            joined.append(place)
    return joined
