"""A diagnostic as a compiler prints it: the message, the place, the line with carets, and the repair."""

from collections.abc import Iterator

from msgspec import Struct

from inspector.diagnostics import RUN_ARGUMENTS, RUN_RESULT, Diagnostic, Fix, Location
from inspector.text import LineIndex, Range
from ui.views.styled_text import LINE_FEED, Line, Run, Style, cell_width, style_of, visible_line, visible_runs
from ui.views.wording import counted, help_line, quoted, title, wrapped

_SMALL_FIX = 200
_INDENT = 6
_RUN_WORDS = {RUN_ARGUMENTS: "the arguments that were executed", RUN_RESULT: "the result that the tool returned"}


class Excerpt(Struct, frozen=True):
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


def diagnostic_lines(
    diagnostic: Diagnostic, text: str, *, width: int, file: str = "", lines: LineIndex | None = None
) -> Iterator[Line]:
    """The lines of a diagnostic; `text` is that of the part it lies in, `lines` its lines where they are known.

    `file` names the text where it is a file of its own; else the turn and the part say where it lies.
    """
    fault = diagnostic.fault
    index = lines or LineIndex(text)
    places = (fault.range, *(related.range for related in fault.related))
    digits = max(len(str(index.position(place.end)[0])) for place in places)
    excerpt = Excerpt(index, digits, width)
    yield from wrapped(title(fault), width, indent=_INDENT)
    yield (Run(f"{'':{digits}}--> ", Style.GUTTER), Run(_where(diagnostic, file, index)))
    yield excerpt.gutter()
    yield from excerpt.lines(fault.range, style_of(fault.rule.severity))
    for related in fault.related:
        yield from wrapped((Run("note: ", Style.INFO), *quoted(related.message)), width, indent=_INDENT)
        yield from excerpt.lines(related.range, Style.INFO, "-")
    if fault.hint:
        yield from wrapped(help_line(fault.hint), width, indent=_INDENT)
    if fault.fix is not None and fault.fix.edits:
        yield from _fix_lines(excerpt, fault.fix)


def place_words(place: Location, index: LineIndex) -> str:
    """Where a place begins, in words; `index` holds the lines of the part that it lies in."""
    line, column = index.position(place.range.start)
    return f"turn {place.turn}, {part_words(place.part)}, line {line} column {column}"


def side_words(diagnostic: Diagnostic) -> str:
    """Where a difference in a turn's request or in a tool's run is, and against what; `""` for any other fault."""
    place, other = diagnostic.location, diagnostic.fault.against
    if place.is_in_turn or other is None:
        return ""
    return f"at {part_words(place.part)}; against turn {other.turn}, {part_words(other.part)}"


def part_words(part: str) -> str:
    """What a part is called: one of a turn's texts by its name, one of its request or of a tool's run in words."""
    kind, _, rest = part.partition(":")
    number, _, name = rest.partition(":")
    if kind == "sent" and name:
        return f"message {visible_line(number)} of its request, {visible_line(name)}"
    return _RUN_WORDS.get(part) or visible_line(part)


def _where(diagnostic: Diagnostic, file: str, index: LineIndex) -> str:
    if not file:
        return place_words(diagnostic.location, index)
    line, column = index.position(diagnostic.location.range.start)
    return f"{visible_line(file)}:{line}:{column}"


def _fix_lines(excerpt: Excerpt, fix: Fix) -> Iterator[Line]:
    """The line before and after the edits, where they lie on one line and near each other."""
    place = Range(fix.edits[0].range.start, fix.edits[-1].range.end)
    number = excerpt.index.position(place.start)[0]
    line, text = excerpt.index.line(number), excerpt.index.text
    shown = excerpt.window(number, place)
    added = sum(len(edit.text) for edit in fix.edits)
    if place.end > shown.end or len(place) + added > _SMALL_FIX or any("\n" in edit.text for edit in fix.edits):
        return
    new, at = "", shown.start
    for edit in fix.edits:
        new += text[at : edit.range.start] + edit.text
        at = edit.range.end
    new += text[at : shown.end]
    for sign, style, said in (("-", Style.REMOVED, shown.of(text)), ("+", Style.ADDED, new)):
        lead, tail = "…" if shown.start > line.start else "", "…" if shown.end < line.end else ""
        yield (Run(f"{number:>{excerpt.digits}} {sign} ", style), *visible_runs(f"{lead}{said}{tail}", style))
