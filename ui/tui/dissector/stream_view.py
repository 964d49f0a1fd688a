"""The pane with the exact stream: rows from a top that stays where it is, a cursor on one character, lit characters.

It is no scroll view: the number of rows is a guess until they are laid out, so what is on the screen is known by its
first row, and the bar at the right says where that is, with a tick for every fault.
"""

from itertools import islice
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from inspector.diagnostics import Location
from inspector.text import Range
from ui.tui.commands import Command, bindings
from ui.tui.dissector.commands import STREAM_COMMANDS
from ui.tui.dissector.stream_bar import StreamBar
from ui.tui.line_view import settled
from ui.tui.palette import Paint, paint_of
from ui.views.dissect.dissection import Dissection
from ui.views.dissect.options import StreamOptions
from ui.views.dissect.stream import Spot, StreamLayout
from ui.views.dissect.stream_rows import GUTTER, RowKind, StreamRow

_MARGIN = 2  # rows that are kept in sight around the cursor
_WHEEL = 3
_UNSEEN = 80  # the width of a pane that is not shown


class StreamView(Widget, can_focus=True):
    """Shows a layout; `Moved` is posted where a key or a click put the cursor on another character."""

    ACTIONS: ClassVar[tuple[Command, ...]] = STREAM_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(STREAM_COMMANDS)]
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    StreamView { background: $background; color: $foreground; }
    """

    class Moved(Message):
        """The cursor is on another character now, at this place."""

        def __init__(self, place: Location) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._options = StreamOptions()
        self._layout: StreamLayout | None = None
        self._top = self._spot = Spot(0, 0)
        self._offset = 0
        self._goal = GUTTER
        self._left = 0
        self._lit: Location | None = None
        self._rows: list[tuple[Spot, StreamRow]] | None = None
        self._bar = StreamBar()

    @property
    def options(self) -> StreamOptions:
        """How the stream is shown."""
        return self._options

    @property
    def place(self) -> Location | None:
        """The character under the cursor; None where there is no text."""
        row = self._row()
        if row is None or self._layout is None or row.part is None or row.place is None:
            return None
        return self._layout.dissection.parts[row.part].location(Range(self._offset, self._offset + 1))

    def show(self, dissection: Dissection | None) -> None:
        """Show a trace from its beginning; None for nothing."""
        self._layout = None if dissection is None else self._laid_out(dissection)
        self._top = self._spot = Spot(0, 0)
        self._offset, self._goal, self._left, self._lit = 0, GUTTER, 0, None
        self._bar = StreamBar()
        self._draw()

    def change(self, options: StreamOptions) -> None:
        """Show the trace in another way, with the same character at the same height."""
        self._options = options
        self._lay_out_anew()

    def grow(self, dissection: Dissection) -> None:
        """Show a longer version of the trace, with the same character at the same height."""
        if self._layout is None:
            self.show(dissection)
        else:
            self._lay_out_anew(dissection)

    def go(self, location: Location, *, centred: bool = True) -> None:
        """Put the cursor on the first character of a place, without telling."""
        spot = self._layout.find(location) if self._layout is not None else None
        if spot is None or self._layout is None:
            return
        self._spot = spot
        row = self._layout.row(spot)
        self._offset = max(row.place.start, min(location.range.start, row.place.end)) if row.place is not None else 0
        self._goal = self._cell()
        self._settle(centred=centred)

    def light(self, location: Location | None) -> None:
        """Light the characters of a place, and no others."""
        self._lit = location
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen: a row, and a cell of the bar."""
        width, base, paint = self.size.width, self.rich_style, paint_of(self.app)
        rows = self._visible()
        if self._layout is None or not rows:
            return Strip.blank(width, base)
        strip = self._drawn(*rows[y], paint, base) if y < len(rows) else Strip.blank(width - 1, base)
        bar = self._bar.cell(self._layout, y, self.size.height, self._layout.number(self._top))
        return Strip.join(
            [strip.crop_extend(0, width - 1, base), Strip([Segment(bar.text, base + paint.of[bar.style])])]
        )

    def on_resize(self, event: events.Resize) -> None:
        """Rows are made for a width."""
        if self._layout is not None and event.size.width and self._layout.width != self._room:
            self._lay_out_anew()
        else:
            self._settle()

    def on_focus(self) -> None:
        """The cursor looks alive."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks asleep."""
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls and leaves the cursor."""
        event.stop()
        self._scroll(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls and leaves the cursor."""
        event.stop()
        self._scroll(-_WHEEL)

    def on_click(self, event: events.Click) -> None:
        """A click on a character goes there; one on the bar goes to that part of the trace."""
        if self._layout is None:
            return
        if event.x >= self.size.width - 1:
            self._top = self._layout.spot(self._layout.count * event.y // max(self.size.height, 1))
            self._draw()
            return
        rows = self._visible()
        if event.y < len(rows):
            spot, row = rows[event.y]
            if row.place is not None:
                self._spot = spot
                cell = event.x if event.x < GUTTER else event.x + self._left
                self._offset = self._layout.offset(row, cell) or 0
                self._goal = self._cell()
                self._told()

    def action_down(self) -> None:
        """Go to the next row of text."""
        self._step(1)

    def action_up(self) -> None:
        """Go to the row of text before."""
        self._step(-1)

    def action_page_down(self) -> None:
        """Go one screen down."""
        self._jump(max(self.size.height - 1, 1))

    def action_page_up(self) -> None:
        """Go one screen up."""
        self._jump(-max(self.size.height - 1, 1))

    def action_first(self) -> None:
        """Go to the first row."""
        if self._layout is not None:
            self._land(self._layout.first(), down=True)

    def action_last(self) -> None:
        """Go to the last row."""
        if self._layout is not None:
            self._land(self._layout.last(), down=False)

    def action_left(self) -> None:
        """Go to the character before, in the row before where the row begins."""
        row = self._row()
        if row is not None and row.place is not None and self._offset > row.place.start:
            self._at(self._offset - 1)
        else:
            self._step(-1)
            self.action_line_end()

    def action_right(self) -> None:
        """Go to the next character, in the next row where the row ends."""
        row = self._row()
        if row is not None and row.place is not None and self._offset + 1 < row.place.end:
            self._at(self._offset + 1)
        else:
            self._goal = GUTTER
            self._step(1)

    def action_line_start(self) -> None:
        """Go to the first character of the row."""
        row = self._row()
        if row is not None and row.place is not None:
            self._at(row.place.start)

    def action_line_end(self) -> None:
        """Go to the last character of the row."""
        row = self._row()
        if row is not None and row.place is not None:
            self._at(max(row.place.end - 1, row.place.start))

    @property
    def _room(self) -> int:
        return max(self.size.width - 1, 24) if self.size.width else _UNSEEN

    def _laid_out(self, dissection: Dissection) -> StreamLayout:
        return StreamLayout(dissection, self._room, self._options)

    def _lay_out_anew(self, dissection: Dissection | None = None) -> None:
        if self._layout is None:
            return
        place, height = self.place, self._height_of_cursor()
        self._layout = layout = self._laid_out(dissection or self._layout.dissection)
        self._bar, self._left, self._rows = StreamBar(), 0, None
        spot = layout.find(place) if place is not None else None
        self._spot = spot if spot is not None else layout.spot(0)
        self._top = layout.moved(self._spot, -height)
        self._goal = self._cell()
        self._settle()

    def _row(self) -> StreamRow | None:
        return self._layout.row(self._spot) if self._layout is not None else None

    def _visible(self) -> list[tuple[Spot, StreamRow]]:
        if self._rows is None:
            down = self._layout.below(self._top) if self._layout is not None else iter(())
            self._rows = list(islice(down, max(self.size.height, 1)))
        return self._rows

    def _cell(self) -> int:
        """The cell of the character under the cursor, in its row."""
        row = self._row()
        if row is None or self._layout is None or row.place is None:
            return GUTTER
        return self._layout.cells(row)[max(self._offset - row.place.start, 0)]

    def _cells_of_cursor(self, layout: StreamLayout, row: StreamRow) -> Range:
        """The cells of the character under the cursor; the one behind the row where it has none of its own."""
        cells, start = layout.cells(row), row.place.start if row.place is not None else 0
        index = min(max(self._offset - start, 0), len(cells) - 1)
        behind = cells[min(index + 1, len(cells) - 1)]
        return Range(cells[index], max(behind, cells[index] + 1))

    def _at(self, offset: int) -> None:
        self._offset = offset
        self._goal = self._cell()
        self._told()

    def _step(self, by: int) -> None:
        """To the nearest row of text below or above the cursor."""
        if self._layout is None:
            return
        walk = islice(self._layout.below(self._spot), 1, None) if by > 0 else self._layout.above(self._spot)
        found = next((spot for spot, row in walk if row.kind is RowKind.TEXT), None)
        if found is not None:
            self._land(found, down=by > 0)
        else:
            self._scroll(by)

    def _jump(self, by: int) -> None:
        if self._layout is not None:
            self._top = self._layout.moved(self._top, by)
            self._land(self._layout.moved(self._spot, by), down=by > 0)

    def _land(self, spot: Spot, *, down: bool) -> None:
        """Put the cursor on a row, or on the nearest row of text from there."""
        if self._layout is None:
            return
        ways = (self._layout.below(spot), self._layout.above(spot))
        first, second = ways if down or self._layout.row(spot).kind is RowKind.TEXT else (ways[1], ways[0])
        texts = (one for way in (first, second) for one, row in way if row.kind is RowKind.TEXT)
        self._spot = next(texts, spot)
        self._offset = self._layout.offset(self._layout.row(self._spot), self._goal) or 0
        self._told()

    def _told(self) -> None:
        self._settle()
        if self.place is not None:
            self.post_message(self.Moved(self.place))

    def _settle(self, *, centred: bool = False) -> None:
        """Bring the cursor into sight, and forget what was on the screen."""
        self._rows = None
        if self._layout is not None and self.size.height:
            self._bring(self._layout, centred=centred)
            self._bring_aside()
        self._draw()

    def _bring(self, layout: StreamLayout, *, centred: bool) -> None:
        height = self.size.height
        margin = min(_MARGIN, max((height - 1) // 2, 0))
        spots = [spot for spot, _ in islice(layout.below(self._top), height)]
        at = spots.index(self._spot) if self._spot in spots else None
        begins = self._top == layout.first()
        if at is None and centred:
            self._top = layout.moved(self._spot, -(height // 3))
        elif at is None or at >= height - margin:
            is_above = self._spot < self._top
            self._top = layout.moved(self._spot, -margin if is_above else -(height - 1 - margin))
        elif at < margin and not begins:
            self._top = layout.moved(self._spot, -margin)
        self._keep_in_bounds(layout)

    def _keep_in_bounds(self, layout: StreamLayout) -> None:
        """No empty screen below the last row, unless there are fewer rows than the screen has."""
        height = self.size.height
        if len(list(islice(layout.below(self._top), height))) < height:
            self._top = layout.moved(layout.last(), -(height - 1))

    def _bring_aside(self) -> None:
        room = max(self.size.width - GUTTER - 2, 4)
        cell = self._cell() - GUTTER
        if cell < self._left:
            self._left = max(cell - room // 3, 0)
        elif cell >= self._left + room:
            self._left = cell - room * 2 // 3
        if self._layout is not None and self._layout.options.wrap:
            self._left = 0

    def _scroll(self, by: int) -> None:
        if self._layout is not None:
            self._top = self._layout.moved(self._top, by)
            self._keep_in_bounds(self._layout)
            self._draw()

    def _height_of_cursor(self) -> int:
        return next((at for at, (spot, _) in enumerate(self._visible()) if spot == self._spot), self.size.height // 3)

    def _draw(self) -> None:
        self._rows = None
        self.refresh()

    def _drawn(self, spot: Spot, row: StreamRow, paint: Paint, base: RichStyle) -> Strip:
        strip = Strip([Segment(settled(run.text), base + paint.of[run.style]) for run in row.line])
        if self._layout is None or row.kind is not RowKind.TEXT:
            return strip
        lit = self._layout.lit(row, self._lit) if self._lit is not None else None
        if lit is not None:
            strip = _laid_over(strip, lit, paint.lit, base)
        if spot == self._spot:
            strip = _laid_over(strip, Range(0, GUTTER - 2), paint.cursor, base)
            if self.has_focus:
                strip = _laid_over(strip, self._cells_of_cursor(self._layout, row), RichStyle(reverse=True), base)
        if self._left:
            strip = Strip.join([strip.crop(0, GUTTER), strip.crop(GUTTER + self._left)])
        return strip


def _laid_over(strip: Strip, cells: Range, style: RichStyle, base: RichStyle) -> Strip:
    """A strip with a style over some of its cells."""
    whole = strip.extend_cell_length(cells.end, base)
    before, over, behind = whole.divide([cells.start, cells.end, max(whole.cell_length, cells.end)])
    return Strip.join([before, over.apply_style(style), behind])
