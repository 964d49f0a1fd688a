"""A few fixed lines: heads, counts, messages; some of their cells can be clicked."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ui.tui.line_view import settled
from ui.tui.palette import paint_of
from ui.views.run import Line, Run, clipped, width_of


@dataclass(frozen=True, slots=True)
class ClickTarget:
    """Cells of the first line that can be clicked; `name` says which were."""

    name: str
    line: Line


class LineBar(Widget):
    """Shows the lines it is told to, each cut at the screen's edge with `…`."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineBar { height: 1; background: $background; color: $foreground; }
    """

    class Pressed(Message):
        """A spot was clicked."""

        def __init__(self, bar: "LineBar", name: str) -> None:
            super().__init__()
            self.bar = bar
            self.name = name

        @property
        def control(self) -> "LineBar":
            """The bar, for `on` selectors."""
            return self.bar

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._spots: Sequence[ClickTarget] = ()
        self._gap = 0

    def say(self, lines: Sequence[Line]) -> None:
        """Show these lines; nothing in them can be clicked."""
        self._lines, self._spots = lines, ()
        self.refresh()

    def offer(self, spots: Sequence[ClickTarget], gap: int = 2) -> None:
        """Show spots beside each other, so many blanks apart."""
        line: list[Run] = [Run(" ")]
        for spot in spots:
            line += (*spot.line, Run(" " * gap))
        self._lines, self._spots, self._gap = (tuple(line),), spots, gap
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One of the lines."""
        width, paint, base = self.size.width, paint_of(self.app), self.rich_style
        line = clipped(self._lines[y], width) if y < len(self._lines) else ()
        segments = [Segment(settled(run.text), base + paint.of[run.style]) for run in line]
        return Strip(segments).crop_extend(0, width, base)

    def on_click(self, event: events.Click) -> None:
        """Say which spot it was."""
        at = 1
        for spot in self._spots:
            width = width_of(spot.line)
            if event.y == 0 and at <= event.x < at + width:
                self.post_message(self.Pressed(self, spot.name))
            at += width + self._gap
