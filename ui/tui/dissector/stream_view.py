"""The pane with the exact stream: a viewport with the selection highlighted, moved by keys, wheel and clicks.

This is not a Textual scroll view: the number of rows is an estimate until they are laid out, so the position is
that of the first visible row. The bar at the right shows it, with a tick for every fault.
"""

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dissector.commands import STREAM_COMMANDS
from weaklink.ui.tui.line_view import fit_cell_width
from weaklink.ui.tui.palette import paint_of
from weaklink.ui.views.dissect.dissection import Dissection
from weaklink.ui.views.dissect.stream import BlockRow, StreamLayout, Viewport, VisibleFault
from weaklink.ui.views.dissect.stream_rows import GUTTER, RowKind, StreamRow
from weaklink.ui.views.dissect.timing import StreamOptions
from weaklink.ui.views.styled_text import Run, Style, style_of

_WHEEL_ROWS = 3
_UNSEEN = 80  # the width of a pane that is not shown
_NARROWEST = 24
_CURSOR = RichStyle(reverse=True)
_LABEL = RichStyle(reverse=True, bold=True)
_MAX_TICKS = 2_000  # with more faults, only every n-th is looked up
_THUMB, _TRACK, _TICK = "┃", "│", "◂"
_SEVERITIES = tuple(Severity)


class StreamView(Widget, can_focus=True):
    """Shows a trace; posts `Moved` when a key or a click has moved the cursor."""

    ACTIONS: ClassVar[tuple[Command, ...]] = STREAM_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(STREAM_COMMANDS)]
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    StreamView { background: $background; color: $foreground; }
    """

    class Moved(Message):
        """The cursor is on another character now, at this place."""

        def __init__(self, location: Location) -> None:
            super().__init__()
            self.location = location

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._options = StreamOptions()
        self._port: Viewport | None = None
        self._lit: Location | None = None
        self._bar = StreamBar()
        self._labels: Mapping[str, VisibleFault] = {}

    @property
    def options(self) -> StreamOptions:
        """How the stream is shown."""
        return self._options

    @property
    def lit(self) -> Location | None:
        """The place whose characters are highlighted."""
        return self._lit

    @property
    def location(self) -> Location | None:
        """The character under the cursor; None if there is no text."""
        return self._port.location if self._port is not None else None

    def faults(self) -> list[VisibleFault]:
        """The faults that begin in the visible rows, in reading order."""
        return self._port.faults() if self._port is not None else []

    def label(self, labels: Mapping[str, VisibleFault]) -> None:
        """Draw these labels over the beginnings of faults, and no others."""
        self._labels = labels
        self.refresh()

    def show(self, dissection: Dissection | None) -> None:
        """Show a trace from its beginning; None clears the view."""
        self._port = None if dissection is None else Viewport(self._laid_out(dissection), self.size.height)
        self._lit, self._bar = None, StreamBar()
        self.refresh()

    def change(self, options: StreamOptions) -> None:
        """Show the trace with other options, with the same character at the same height."""
        self._options = options
        if self._port is not None:
            self._lay_out_again(self._port, self._port.layout.dissection)

    def grow(self, dissection: Dissection) -> None:
        """Show a longer version of the trace, with the same character at the same height."""
        if self._port is None:
            self.show(dissection)
        else:
            self._lay_out_again(self._port, dissection)

    def go(self, location: Location) -> None:
        """Put the cursor on the first character of a place, without posting `Moved`."""
        if self._port is not None:
            self._port.go(location)
            self.refresh()

    def light(self, location: Location | None) -> None:
        """Highlight the characters of a place, and no others."""
        self._lit = location
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen: a row, and a cell of the bar."""
        width, base, port = self.size.width, self.rich_style, self._port
        if port is None:
            return Strip.blank(width, base)
        strip = self._drawn(port, *port.rows[y], base) if y < len(port.rows) else Strip.blank(width - 1, base)
        for text, fault in self._labels.items():
            if fault.y == y:
                strip = _lettered(strip, text, fault.cell, base)
        bar = self._bar.cell(port.layout, y, self.size.height, port.layout.number(port.top))
        drawn = Segment(bar.text, base + paint_of(self.app).of[bar.style])
        return Strip.join([strip.crop_extend(0, width - 1, base), Strip([drawn])])

    def on_resize(self, event: events.Resize) -> None:
        """Lay the rows out for the new width."""
        port = self._port
        if port is None or not event.size.width:
            return
        port.resized(event.size.height)
        if port.layout.width != self._room:
            self._lay_out_again(port, port.layout.dissection)
        self.refresh()

    def on_focus(self) -> None:
        """Show the cursor as active."""
        self.refresh()

    def on_blur(self) -> None:
        """Show the cursor as inactive."""
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll without moving the cursor."""
        event.stop()
        self._scroll(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll without moving the cursor."""
        event.stop()
        self._scroll(-_WHEEL_ROWS)

    def on_click(self, event: events.Click) -> None:
        """Go to the clicked character; a click on the bar shows that part of the trace."""
        offset, port = event.get_content_offset_capture(self), self._port
        if port is None:
            return
        if offset.x >= self.size.width - 1:
            port.show_from(port.layout.count * offset.y // max(self.size.height, 1))
            self.refresh()
        elif port.point(offset.y, offset.x):
            self._cursor_moved()

    def action_down(self) -> None:
        """Go to the next row of text."""
        if self._port is not None:
            self._port.step(1)
            self._cursor_moved()

    def action_up(self) -> None:
        """Go to the previous row of text."""
        if self._port is not None:
            self._port.step(-1)
            self._cursor_moved()

    def action_page_down(self) -> None:
        """Go one screen down."""
        if self._port is not None:
            self._port.jump(max(self.size.height - 1, 1))
            self._cursor_moved()

    def action_page_up(self) -> None:
        """Go one screen up."""
        if self._port is not None:
            self._port.jump(-max(self.size.height - 1, 1))
            self._cursor_moved()

    def action_first(self) -> None:
        """Go to the first row."""
        if self._port is not None:
            self._port.first()
            self._cursor_moved()

    def action_last(self) -> None:
        """Go to the last row."""
        if self._port is not None:
            self._port.last()
            self._cursor_moved()

    def action_left(self) -> None:
        """Go to the previous character; from the beginning of a row, to the row before."""
        if self._port is not None:
            self._port.character(-1)
            self._cursor_moved()

    def action_right(self) -> None:
        """Go to the next character; from the end of a row, to the next row."""
        if self._port is not None:
            self._port.character(1)
            self._cursor_moved()

    def action_line_start(self) -> None:
        """Go to the first character of the row."""
        if self._port is not None:
            self._port.edge(end=False)
            self._cursor_moved()

    def action_line_end(self) -> None:
        """Go to the last character of the row."""
        if self._port is not None:
            self._port.edge(end=True)
            self._cursor_moved()

    @property
    def _room(self) -> int:
        return max(self.size.width - 1, _NARROWEST) if self.size.width else _UNSEEN

    def _laid_out(self, dissection: Dissection) -> StreamLayout:
        return StreamLayout(dissection, self._room, self._options)

    def _lay_out_again(self, port: Viewport, dissection: Dissection) -> None:
        port.laid_out(self._laid_out(dissection))
        self._bar = StreamBar()
        self.refresh()

    def _cursor_moved(self) -> None:
        self.refresh()
        if self.location is not None:
            self.post_message(self.Moved(self.location))

    def _scroll(self, by: int) -> None:
        if self._port is not None:
            self._port.scroll(by)
            self.refresh()

    def _drawn(self, port: Viewport, spot: BlockRow, row: StreamRow, base: RichStyle) -> Strip:
        paint = paint_of(self.app)
        strip = Strip([Segment(fit_cell_width(run.text), base + paint.of[run.style]) for run in row.line])
        if row.kind is not RowKind.TEXT:
            return strip
        lit = port.layout.lit(row, self._lit) if self._lit is not None else None
        if lit is not None:
            strip = _laid_over(strip, lit, paint.lit, base)
        if spot == port.spot:
            strip = _laid_over(strip, Range(0, GUTTER - 2), paint.cursor, base)
            if self.has_focus:
                strip = _laid_over(strip, port.cells, _CURSOR, base)
        if port.left:
            strip = Strip.join([strip.crop(0, GUTTER), strip.crop(GUTTER + port.left)])
        return strip


def _laid_over(strip: Strip, cells: Range, style: RichStyle, base: RichStyle) -> Strip:
    """A strip with a style over some of its cells."""
    whole = strip.extend_cell_length(cells.end, base)
    before, over, after = whole.divide([cells.start, cells.end, max(whole.cell_length, cells.end)])
    return Strip.join([before, over.apply_style(style), after])


def _lettered(strip: Strip, text: str, cell: int, base: RichStyle) -> Strip:
    """A strip with a text in place of some of its cells."""
    whole = strip.extend_cell_length(cell + len(text), base)
    before, _, after = whole.divide([cell, cell + len(text), max(whole.cell_length, cell + len(text))])
    return Strip.join([before, Strip([Segment(text, base + _LABEL)]), after])


class StreamBar:
    """One column of cells for one layout; the positions of faults are looked up once per height."""

    def __init__(self) -> None:
        self._ticks: dict[int, Severity] | None = None
        self._height = 0

    def cell(self, layout: StreamLayout, y: int, height: int, top: int) -> Run:
        """The cell beside line `y` of a screen of `height`; `top` is the number of the first visible row."""
        count = max(layout.count, 1)
        first = top * height // count
        last = max((top + height) * height // count, first + 1)
        worst = self._at(layout, height).get(y)
        if worst is not None:
            return Run(_TICK, style_of(worst))
        return Run(_THUMB, Style.STRONG) if first <= y < last else Run(_TRACK, Style.GUTTER)

    def _at(self, layout: StreamLayout, height: int) -> dict[int, Severity]:
        """The worst severity of the faults that each cell represents."""
        if self._ticks is None or self._height != height:
            self._ticks, self._height = {}, height
            faults, count = layout.dissection.faults, max(layout.count, 1)
            for index in range(0, len(faults.positions), max(len(faults.positions) // _MAX_TICKS, 1)):
                number = layout.guessed(*faults.positions.order(index)[:3])
                y, severity = min(number * height // count, height - 1), faults.severity(index)
                before = self._ticks.get(y)
                if before is None or _SEVERITIES.index(severity) < _SEVERITIES.index(before):
                    self._ticks[y] = severity
        return self._ticks
