"""A growing trace as lines: closed spans stay as they are, and the open end is laid out anew with each look."""

from collections.abc import Iterator, Sequence

from inspector.diagnostics import Diagnostic
from inspector.model import Role, SpanKind
from inspector.text import Range
from ui.tui.live.growing import GrowingPart, GrowingTrace, GrowingTurn, is_shown
from ui.views.carets import Under, caret_lines
from ui.views.palette import Style, style_of
from ui.views.rows import caret_place, cut_rows
from ui.views.run import Line, Run
from ui.views.visible import visible_runs
from ui.views.wording import counted, title

_GUTTER = 18
_OPEN_END = 4_000  # characters of what no span has closed yet; before them stands how many more there are
_OPEN = "▸▸"
_BAR = Run(f"{'│':>{_GUTTER - 1}} ", Style.GUTTER)


class _PartLines:
    """The rows of a part: those of closed spans once and for all."""

    def __init__(self) -> None:
        self.rows: list[Line] = []
        self.spans = 0
        self.faults = 0
        self.until = 0


class GrowingLines:
    """The lines of a growing trace for a width; `update` before they are asked for."""

    def __init__(self, trace: GrowingTrace, width: int) -> None:
        self._trace = trace
        self._width = width
        self._done: list[Line] = []
        self._sizes: dict[int, int] = {}  # how many of these each turn has, by number
        self._before: list[Line] = []
        self._open: list[Line] = []
        self._parts: dict[tuple[int, str], _PartLines] = {}

    @property
    def count(self) -> int:
        """How many lines there are by now."""
        return len(self._before) + len(self._done) + len(self._open)

    def line(self, index: int, width: int) -> Line:
        """A line."""
        for lines in (self._before, self._done):
            if index < len(lines):
                return lines[index]
            index -= len(lines)
        return self._open[index]

    def update(self) -> int:
        """Lay out what came since; by how many lines what was there before has moved up."""
        turns, were = self._trace.turns, len(self._before)
        left = sum(self._sizes.pop(number) for number in list(self._sizes) if number <= self._trace.before)
        del self._done[:left]
        self._before = [_left_out(self._trace.before)] if self._trace.before else []
        laid = 0
        for turn in turns:
            if not turn.ended:
                break
            laid += 1
            if turn.number not in self._sizes:
                lines = list(self._turn(turn))
                self._done += lines
                self._sizes[turn.number] = len(lines)
                self._parts = {key: rows for key, rows in self._parts.items() if key[0] != turn.number}
        self._open = [line for turn in turns[laid:] for line in self._turn(turn)]
        return left + were - len(self._before)

    def _turn(self, turn: GrowingTurn) -> Iterator[Line]:
        running = "" if turn.ended else "  ▸ running"
        head = (Run(f"── {turn.number} {turn.role.value}", Style.STRONG), Run(running, Style.INFO))
        rest = max(self._width - len(head[0].text) - len(running) - 2, 0)
        yield (*head, Run(f" {'─' * rest}", Style.GUTTER))
        for name, part in turn.parts.items():
            if is_shown(name) and part.text:
                yield from self._part(turn, name, part)

    def _part(self, turn: GrowingTurn, name: str, part: GrowingPart) -> Iterator[Line]:
        kept = self._parts.setdefault((turn.number, name), _PartLines())
        if len(part.faults) != kept.faults or kept.spans > len(part.spans):
            kept = self._parts[turn.number, name] = _PartLines()
            kept.faults = len(part.faults)
        for span in part.spans[kept.spans :]:
            kept.rows += self._rows(part, span.range, span.kind.value, style_of(span.kind))
            kept.until = max(kept.until, span.range.end)
        kept.spans = len(part.spans)
        yield from kept.rows
        if kept.until < len(part.text):
            yield from self._open_end(turn, name, part, kept.until)

    def _open_end(self, turn: GrowingTurn, name: str, part: GrowingPart, start: int) -> Iterator[Line]:
        """What no span has closed yet: in the span that is open, as far as there is one."""
        opened = turn.open_span if name == "text" else None
        is_model = turn.role is Role.ASSISTANT
        kind = opened.kind.value if opened is not None else name if is_model else turn.role.value
        style = style_of(opened.kind) if opened is not None else Style.PLAIN
        label = f"{_OPEN} {kind}" if is_model and not turn.ended else kind
        left_out = len(part.text) - start - _OPEN_END
        if left_out > 0:
            yield (Run(" " * _GUTTER), Run(f"… {left_out:,} characters before", Style.DIM))
            start = len(part.text) - _OPEN_END
        yield from self._rows(part, Range(start, len(part.text)), label, style)

    def _rows(self, part: GrowingPart, place: Range, label: str, style: Style) -> Iterator[Line]:
        text = part.text
        if label == SpanKind.TEXT.value and not place.of(text).strip():
            return
        inside = [one for one in part.faults if place.start <= one.range.start < max(place.end, place.start + 1)]
        room = max(self._width - _GUTTER - 1, 20)
        if (
            text.startswith("\n", place.start)
            and len(place) > 1
            and not (inside and inside[0].range.start == place.start)
        ):
            place = Range(place.start + 1, place.end)  # a line feed that only ends the line of the span before
        for row in cut_rows(text, place, room):
            lead = Run(f" {label[: _GUTTER - 4]:<{_GUTTER - 4}} │ ", style)
            yield (lead, *visible_runs(row.of(text), style if style is not Style.TEXT else Style.PLAIN))
            label = ""
            yield from self._faults(text, row, [one for one in inside if _begins_in(one, row, place)])

    def _faults(self, text: str, row: Range, faults: Sequence[Diagnostic]) -> Iterator[Line]:
        found = [one.fault for one in sorted(faults, key=_range)]
        places = [Under(*caret_place(text, row, one.range), [one], [[title(one)]]) for one in found]
        if places:
            yield from ((_BAR, *line) for line in caret_lines(places, max(self._width - _GUTTER - 2, 20)))


def _left_out(turns: int) -> Line:
    return (Run(f" … {counted(turns, 'turn')} before: `o` shows all of them", Style.DIM),)


def _begins_in(one: Diagnostic, row: Range, place: Range) -> bool:
    start = one.range.start
    return row.start <= start < row.end or (start == row.end == place.end) or (start == row.end and len(row) == 0)


def _range(one: Diagnostic) -> Range:
    return one.range
