"""The line of a text that a place lies in, with carets under it; of a long line, the surroundings of the place."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.text import LineIndex, Range
from ui.views.cells import cell_width
from ui.views.palette import Style
from ui.views.run import Line, Run
from ui.views.visible import LINE_FEED, visible_line, visible_runs
from ui.views.wording import counted


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Where excerpts are taken from and how wide they are; `digits` is the width of their line numbers.

    `first` is the number that the text's first line is shown with.
    """

    index: LineIndex
    digits: int
    width: int
    first: int = 1

    @property
    def room(self) -> int:
        """The cells that a line's text may take."""
        return max(self.width - self.digits - 3, 12)

    def lines(self, place: Range, style: Style, mark: str = "^") -> Iterator[Line]:
        """The line that holds `place`, marked; of a place over several lines, the first and the last."""
        first = self.index.position(place.start)[0]
        last = self.index.position(max(place.end - 1, place.start))[0]
        over = Range(place.start, place.end if first == last else self.index.line(first).end + 1)
        yield from self._marked(first, over, style, mark)
        if last - first > 1:
            said = counted(last - first - 1, "line")
            yield (Run(f"{'…':>{self.digits}} | ", Style.GUTTER), Run(said, Style.DIM))
        if last > first:
            yield from self._marked(last, Range(self.index.line(last).start, place.end), style, mark)

    def gutter(self) -> Line:
        """The beginning of a line that has no number."""
        return (Run(f"{'':{self.digits}} |", Style.GUTTER),)

    def window(self, number: int, place: Range) -> Range:
        """As much of a line as fits: the place, and before all what stands before it."""
        line, text, room = self.index.line(number), self.index.text, self.room - 2
        if len(line) <= room and cell_width(visible_line(line.of(text))) <= room:
            return line
        start = min(place.start, line.end)
        before = text[max(line.start, start - room) : start]
        after = text[start : min(line.end, start + room)]
        under = min(cell_width(visible_line(after[: max(place.end - start, 1)])), room * 2 // 3)
        behind = min(cell_width(visible_line(after)), under + room // 4)
        head = _fitting(before[::-1], room - behind)
        tail_room = room - cell_width(visible_line(before[len(before) - head :]))
        return Range(start - head, start + _fitting(after, tail_room))

    def _marked(self, number: int, place: Range, style: Style, mark: str) -> Iterator[Line]:
        line, text = self.index.line(number), self.index.text
        shown = self.window(number, place)
        start = min(place.start, shown.end)
        end = max(min(place.end, shown.end), start)
        is_cut = shown.start > line.start
        has_feed = place.start <= line.end < place.end and shown.end == line.end
        yield (
            Run(f"{number + self.first - 1:>{self.digits}} | ", Style.GUTTER),
            *((Run("…", Style.DIM),) if is_cut else ()),
            *visible_runs(text[shown.start : start]),
            *visible_runs(text[start:end], style),
            *visible_runs(text[end : shown.end]),
            *((Run(LINE_FEED, Style.CONTROL),) if has_feed else ()),
            *((Run("…", Style.DIM),) if shown.end < line.end else ()),
        )
        before = cell_width(visible_line(text[shown.start : start])) + is_cut
        under = cell_width(visible_line(text[start:end])) + has_feed
        yield (*self.gutter(), Run(" " * (before + 1)), Run(mark * max(under, 1), style))


def _fitting(text: str, room: int) -> int:
    """How many code points of a text, made visible, fit into `room` cells."""
    taken = 0
    for index, character in enumerate(text):
        taken += cell_width(visible_line(character))
        if taken > room:
            return index
    return len(text)
