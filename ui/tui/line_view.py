"""Lines on a screen: a view of any number of lines that reads only the visible ones; and a text input.

A click puts the cursor on a line, a second click on the same line chooses it; the wheel does not move the cursor.
Nothing is animated: the effect of a key is visible in the next frame.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import ClassVar, Protocol

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.widgets import Input

from weaklink.ui.tui.commands import LINE_COMMANDS, Command, bindings
from weaklink.ui.tui.palette import Paint, paint_of
from weaklink.ui.views.styled_text import Line, cell_width, visible_line

_STRIPS = 1_024  # drawn lines that are kept: a few screens of the largest terminals
_ASIDE = 8  # cells that one key scrolls sideways
_NOTHING = RichStyle()
_MAX_CELLS = 4_096  # the maximum number of cells of a line that are drawn

# Some terminals draw these within the character before them, others after it: no column would be right.
_UNCERTAIN: dict[int, None] = dict.fromkeys((0x200C, 0x200D, 0xFE0E, 0xFE0F))


class LineInput(Input):
    """Textual's input, but it shows invisible characters as glyphs; its `value` is the exact text."""

    def render_line(self, y: int) -> Strip:
        """The line."""
        strip = super().render_line(y)
        if strip.text.isascii():
            return strip
        shown = [segment if segment.control else _shown(segment) for segment in strip]
        return Strip(shown).crop_extend(0, self.size.width, self.rich_style)


def _shown(segment: Segment) -> Segment:
    return Segment(fit_cell_width(visible_line(segment.text)), segment.style)


class LineSource(Protocol):
    """The content of a view: lines by index, each made when it becomes visible."""

    @property
    def count(self) -> int:
        """How many lines there are."""
        ...

    def line(self, index: int, width: int) -> Line:
        """Line `index`, from 0, for a screen of `width` cells; cells beyond them are reached by scrolling."""
        ...


class LineList(Struct, frozen=True):
    """A source of lines that exist already."""

    lines: Sequence[Line] = ()

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.lines)

    def line(self, index: int, width: int) -> Line:
        """The line as it is, whatever the width."""
        return self.lines[index]


class CellRange(Struct, frozen=True):
    """Half-open cells of one line, from 0 at its beginning."""

    start: int
    end: int


Highlights = Mapping[int, Sequence[CellRange]]
"""The highlighted cells, by the index of their line."""


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows the lines of a source. Call `show` for another source, and `renew` when the lines of this one change.

    `content_width` is the width of the longest line in cells, if that is more than the screen has: the view can then
    be scrolled sideways.
    """

    ACTIONS: ClassVar[tuple[Command, ...]] = LINE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LINE_COMMANDS)]
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineView {
        background: $background;
        color: $foreground;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
    }
    """

    class Moved(Message):
        """The cursor is on another line now."""

        def __init__(self, view: "LineView", index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> "LineView":
            """The view, for `on` selectors."""
            return self.view

    class Chosen(Moved):
        """The line under the cursor was chosen, by enter or a second click."""

    def __init__(self, source: LineSource | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._source: LineSource = source or LineList()
        self._cursor = 0
        self._content_width = 0
        self._lit: Highlights = MappingProxyType({})
        self._strips: LRUCache[tuple[int, int, bool], Strip] = LRUCache(_STRIPS)
        self._measure()

    @property
    def source(self) -> LineSource:
        """The source that is shown."""
        return self._source

    @property
    def cursor(self) -> int:
        """The index of the line under the cursor; 0 if there are no lines."""
        return self._cursor

    def show(self, source: LineSource, *, cursor: int = 0, content_width: int = 0) -> None:
        """Show another source, with the cursor on a line of it and nothing highlighted."""
        self._source = source
        self._content_width = content_width
        self._lit = MappingProxyType({})
        self._cursor = self._within(cursor)
        self.renew()
        self.scroll_to(x=0, y=0, animate=False)
        self.reveal(self._cursor)

    def renew(self, index: int | None = None) -> None:
        """Draw everything again, since lines or their number have changed; or only one line."""
        if index is not None:
            for is_cursor in (False, True):
                self._strips.discard((index, self._room, is_cursor))
            self.refresh_line(index)
            return
        self._strips.clear()
        self._cursor = self._within(self._cursor)
        self._measure()
        self.refresh()

    def light(self, lit: Highlights) -> None:
        """Highlight these cells, and no others."""
        before, self._lit = self._lit, lit
        for index in {*before, *lit}:
            self.renew(index)

    def move_to(self, index: int, *, centred: bool = False) -> None:
        """Put the cursor on a line, scroll to it, and post `Moved` if it was on another line."""
        before, self._cursor = self._cursor, self._within(index)
        self.reveal(self._cursor, centred=centred)
        if self._cursor != before:
            self.refresh_line(before)
            self.refresh_line(self._cursor)
            self.post_message(self.Moved(self, self._cursor))

    def reveal(self, index: int, *, centred: bool = False) -> None:
        """Scroll just far enough to show a line; `centred` puts a line that was not visible into the middle."""
        top, height = self.scroll_offset.y, max(self.scrollable_content_region.height, 1)
        if top <= index < top + height:
            return
        if centred:
            self.scroll_to(y=index - height // 2, animate=False)
        else:
            self.scroll_to(y=index if index < top else index - height + 1, animate=False)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        base = self.rich_style
        index = top + y
        if index >= self._source.count:
            return Strip.blank(width, base)
        return self._strip(index, base).crop_extend(left, left + width, base + self._ground(index))

    def notify_style_update(self) -> None:
        """Discard what was drawn in another theme."""
        super().notify_style_update()
        self._strips.clear()

    def on_resize(self) -> None:
        """Draw the lines for the new width."""
        self._strips.clear()
        self._measure()
        self.reveal(self._cursor)

    def on_focus(self) -> None:
        """Draw the cursor as active."""
        self.renew(self._cursor)

    def on_blur(self) -> None:
        """Draw the cursor as inactive."""
        self.renew(self._cursor)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line, or choose the line if the cursor is there already."""
        index = self.scroll_offset.y + event.get_content_offset_capture(self).y
        if not 0 <= index < self._source.count:
            return
        was_there = index == self._cursor
        self.move_to(index)
        if was_there:
            self.post_message(self.Chosen(self, index))

    def action_down(self) -> None:
        """Go to the next line."""
        self.move_to(self._cursor + 1)

    def action_up(self) -> None:
        """Go to the previous line."""
        self.move_to(self._cursor - 1)

    def action_page_down(self) -> None:
        """Go one screen down."""
        self.move_to(self._cursor + self._screenful)

    def action_page_up(self) -> None:
        """Go one screen up."""
        self.move_to(self._cursor - self._screenful)

    def action_first(self) -> None:
        """Go to the first line."""
        self.move_to(0)

    def action_last(self) -> None:
        """Go to the last line."""
        self.move_to(self._source.count - 1)

    def action_left(self) -> None:
        """Scroll left."""
        self.scroll_to(x=self.scroll_offset.x - _ASIDE, animate=False)

    def action_right(self) -> None:
        """Scroll right."""
        self.scroll_to(x=self.scroll_offset.x + _ASIDE, animate=False)

    def action_choose(self) -> None:
        """Choose the line under the cursor."""
        if self._source.count:
            self.post_message(self.Chosen(self, self._cursor))

    @property
    def _screenful(self) -> int:
        return max(self.scrollable_content_region.height - 1, 1)

    @property
    def _room(self) -> int:
        return self.scrollable_content_region.width

    def _within(self, index: int) -> int:
        return max(min(index, self._source.count - 1), 0)

    def _measure(self) -> None:
        self.virtual_size = Size(min(self._content_width, _MAX_CELLS), self._source.count)

    def _strip(self, index: int, base: RichStyle) -> Strip:
        key = (index, self._room, index == self._cursor)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._drawn(index, base)
        return strip

    def _drawn(self, index: int, base: RichStyle) -> Strip:
        paint = paint_of(self.app)
        ground = self._ground(index)
        line = self._source.line(index, self._room)
        strip = Strip([Segment(fit_cell_width(run.text), base + paint.of[run.style] + ground) for run in line])
        for cells in self._lit.get(index, ()):
            before, lit, after = strip.divide([cells.start, cells.end, max(strip.cell_length, cells.end)])
            strip = Strip.join([before, lit.apply_style(paint.lit), after])
        return strip.crop(0, _MAX_CELLS)

    def _ground(self, index: int) -> RichStyle:
        """The style over a line: the cursor's line is highlighted, less so while another widget has the focus."""
        if index != self._cursor or not self._source.count:
            return _NOTHING
        paint = paint_of(self.app)
        return paint.cursor if self.has_focus else paint.asleep


def fit_cell_width(text: str) -> str:
    """`text`, changed so that Textual and the views agree on its width: they differ on some marks after a letter."""
    if text.isascii():
        return text
    settled = text.translate(_UNCERTAIN)
    return settled + " " * (cell_width(settled) - cell_len(settled))


def content_of(line: Line, paint: Paint) -> Content:
    """A line for Textual's own widgets, in the styles of a theme."""
    return Content.assemble(*((fit_cell_width(run.text), visual_style(paint.of[run.style])) for run in line))


visual_style = cache(VisualStyle.from_rich_style)
