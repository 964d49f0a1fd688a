"""The one line at the top that says where one is, what is shown of how much, and what is going on."""

from dataclasses import dataclass

from rich.segment import Segment
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from ui.tui.line_view import settled
from ui.tui.palette import paint_of
from ui.views.palette import Style
from ui.views.run import Line, Run, clipped, padded, width_of
from ui.views.visible import visible_line

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PERIOD_S = 0.12
_BEHIND = Run(" ▸ ", Style.DIM)
_SHORTEST = 4  # cells of a crumb that is cut


@dataclass(frozen=True, slots=True)
class StatusText:
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
        segments = [Segment(settled(run.text), base + paint.of[run.style]) for run in line]
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
