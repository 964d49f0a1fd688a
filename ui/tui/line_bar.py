"""Fixed lines on a screen: heads, counts and messages with clickable cells, and the status line at the top."""

from collections.abc import Sequence

from msgspec import Struct
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from ui.tui.line_view import fit_cell_width
from ui.tui.palette import paint_of
from ui.views.styled_text import Line, Run, Style, clipped, padded, visible_line, width_of

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PERIOD_S = 0.12
_BEHIND = Run(" ▸ ", Style.DIM)
_SHORTEST = 4  # cells of a crumb that is cut


class ClickTarget(Struct, frozen=True):
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
        segments = [Segment(fit_cell_width(run.text), base + paint.of[run.style]) for run in line]
        return Strip(segments).crop_extend(0, width, base)

    def on_click(self, event: events.Click) -> None:
        """Say which spot it was."""
        at = 1
        for spot in self._spots:
            width = width_of(spot.line)
            if event.y == 0 and at <= event.x < at + width:
                self.post_message(self.Pressed(self, spot.name))
            at += width + self._gap


class StatusText(Struct, frozen=True):
    """What the line says: the way to this screen, what it is about (a filter, a format), and at the right how much.

    `problem` is what went wrong and still is.
    """

    crumbs: tuple[str, ...] = ()
    about: Line = ()
    right: Line = ()
    problem: str = ""


class StatusLine(Widget):
    """Shows what a screen says of itself; `working` names the slow thing that is going on, if any."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    StatusLine { height: 1; dock: top; background: $surface; color: $foreground; }
    """
    said: reactive[StatusText] = reactive(StatusText())
    working: reactive[str] = reactive("")

    def __init__(self) -> None:
        super().__init__()
        self._frame = 0
        self._turning: Timer | None = None

    def watch_working(self, working: str) -> None:
        """Turn while something is going on, and only then."""
        if working and self._turning is None:
            self._turning = self.set_interval(_PERIOD_S, self._turn)
        elif not working and self._turning is not None:
            self._turning.stop()
            self._turning = None

    def render_line(self, y: int) -> Strip:
        """The line."""
        width, paint, base = self.size.width, paint_of(self.app), self.rich_style
        line = self._line(width)
        segments = [Segment(fit_cell_width(run.text), base + paint.of[run.style]) for run in line]
        return Strip(segments).crop_extend(0, width, base)

    def _line(self, width: int) -> Line:
        said = self.said
        right: Line = said.right
        if self.working:
            right = (Run(f"{_FRAMES[self._frame]} {self.working}  ", Style.INFO), *right)
        if said.problem:
            right = (Run("✖ ", Style.ERROR), Run(visible_line(said.problem), Style.ERROR))
        room = max(width - 2, 10)
        right = clipped(right, max(room - 12, room // 2))
        rest = max(room - width_of(right) - 1, 0)
        left = clipped((Run(" "), *self._crumbs(rest - 3), Run("  "), *said.about), rest)
        return (*padded(left, room - width_of(right)), Run(" "), *right, Run(" "))

    def _crumbs(self, room: int) -> Line:
        """The way here; where it is too long, its longest part is cut, for the last one says which screen this is."""
        crumbs: list[Line] = [(Run(visible_line(crumb)),) for crumb in self.said.crumbs]
        if not crumbs:
            return ()
        crumbs[-1] = (Run(crumbs[-1][0].text, Style.STRONG),)
        widths = [width_of(crumb) for crumb in crumbs]
        beyond = sum(widths) + len(_BEHIND.text) * (len(crumbs) - 1) - room
        if beyond > 0:
            longest = widths.index(max(widths))
            crumbs[longest] = clipped(crumbs[longest], max(widths[longest] - beyond, _SHORTEST))
        return tuple(run for crumb in crumbs for run in (_BEHIND, *crumb))[1:]

    def _turn(self) -> None:
        self._frame = (self._frame + 1) % len(_FRAMES)
        self.refresh()
