"""Fixed lines on a screen: heads, counts, messages with clickable cells, the status line, and the keys below."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from weaklink.ui.tui.commands import AvailableCommand, available_commands, key_names
from weaklink.ui.tui.line_view import fit_cell_width
from weaklink.ui.tui.palette import paint_of
from weaklink.ui.views.styled_text import Line, Run, Style, cell_width, clipped, padded, visible_line, width_of

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PERIOD_S = 0.12
_SEPARATOR = Run(" ▸ ", Style.DIM)
_SHORTEST = 4  # cells of a crumb that is truncated
_LINES = 2
_ALWAYS = 3


class ClickTarget(Struct, frozen=True):
    """Cells of the first line that can be clicked; `name` identifies them."""

    name: str
    line: Line


class LineBar(Widget):
    """Shows lines, each truncated with `…` at the screen's edge."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineBar { height: 1; background: $background; color: $foreground; }
    """

    class Pressed(Message):
        """A click target was clicked."""

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
        """Show click targets side by side, `gap` spaces apart."""
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
        """Post which click target was clicked."""
        at = 1
        for spot in self._spots:
            width = width_of(spot.line)
            if event.y == 0 and at <= event.x < at + width:
                self.post_message(self.Pressed(self, spot.name))
            at += width + self._gap


class StatusText(Struct, frozen=True):
    """The content of the status line: breadcrumbs, what the screen is about (a filter, a format), and counts.

    `problem` is an error that persists; it is shown instead of the counts.
    """

    crumbs: tuple[str, ...] = ()
    about: Line = ()
    right: Line = ()
    problem: str = ""


class StatusLine(Widget):
    """Shows the status of a screen; `working` names the slow work in progress, if any."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    StatusLine { height: 1; dock: top; background: $surface; color: $foreground; }
    """
    status_text: reactive[StatusText] = reactive(StatusText())
    working: reactive[str] = reactive("")

    def __init__(self) -> None:
        super().__init__()
        self._frame = 0
        self._spinner: Timer | None = None

    def watch_working(self, working: str) -> None:
        """Animate the line only while work is in progress."""
        if working and self._spinner is None:
            self._spinner = self.set_interval(_PERIOD_S, self._turn)
        elif not working and self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def render_line(self, y: int) -> Strip:
        """The line."""
        width, paint, base = self.size.width, paint_of(self.app), self.rich_style
        line = self._line(width)
        segments = [Segment(fit_cell_width(run.text), base + paint.of[run.style]) for run in line]
        return Strip(segments).crop_extend(0, width, base)

    def _line(self, width: int) -> Line:
        text = self.status_text
        right: Line = text.right
        if self.working:
            right = (Run(f"{_FRAMES[self._frame]} {self.working}  ", Style.INFO), *right)
        if text.problem:
            right = (Run("✖ ", Style.ERROR), Run(visible_line(text.problem), Style.ERROR))
        room = max(width - 2, 10)
        right = clipped(right, max(room - 12, room // 2))
        rest = max(room - width_of(right) - 1, 0)
        left = clipped((Run(" "), *self._crumbs(rest - 3), Run("  "), *text.about), rest)
        return (*padded(left, room - width_of(right)), Run(" "), *right, Run(" "))

    def _crumbs(self, room: int) -> Line:
        """The breadcrumbs; if they are too long, the longest is truncated, since the last one names this screen."""
        crumbs: list[Line] = [(Run(visible_line(crumb)),) for crumb in self.status_text.crumbs]
        if not crumbs:
            return ()
        crumbs[-1] = (Run(crumbs[-1][0].text, Style.STRONG),)
        widths = [width_of(crumb) for crumb in crumbs]
        beyond = sum(widths) + len(_SEPARATOR.text) * (len(crumbs) - 1) - room
        if beyond > 0:
            longest = widths.index(max(widths))
            crumbs[longest] = clipped(crumbs[longest], max(widths[longest] - beyond, _SHORTEST))
        return tuple(run for crumb in crumbs for run in (_SEPARATOR, *crumb))[1:]

    def _turn(self) -> None:
        self._frame = (self._frame + 1) % len(_FRAMES)
        self.refresh()


class _Label(Struct, frozen=True):
    """A command in the footer: where its cells begin, its key and its title."""

    start: int
    key: str
    title: str
    offered: AvailableCommand

    @property
    def width(self) -> int:
        return cell_width(self.key) + 1 + cell_width(self.title)


class KeyFooter(Widget):
    """Two lines of keys for the focused widget; `H` hides them."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter { height: 2; dock: bottom; background: $surface; color: $foreground; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._besides: frozenset[str] = frozenset()
        self._rows: list[list[_Label]] = []
        self._shown: list[tuple[str, AvailableCommand]] = []

    @property
    def besides(self) -> frozenset[str]:
        """The ids of commands to show first in the footer, for what is shown now."""
        return self._besides

    @besides.setter
    def besides(self, ids: frozenset[str]) -> None:
        if ids != self._besides:
            self._besides = ids
            self._look(None)

    def on_mount(self) -> None:
        """Follow the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._look)
        self._look(None)

    def on_resize(self) -> None:
        """Lay the labels out for the new width, also below a dialog."""
        self._rows = _laid_out(self._shown, self.size.width)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One of the two lines."""
        paint, base = paint_of(self.app), self.rich_style
        segments: list[Segment] = []
        at = 0
        for label in self._rows[y] if y < len(self._rows) else ():
            segments += [
                Segment(" " * (label.start - at), base),
                Segment(label.key, base + paint.of[Style.KEY]),
                Segment(f" {label.title}", base),
            ]
            at = label.start + label.width
        return Strip(segments).crop_extend(0, self.size.width, base)

    async def on_click(self, event: events.Click) -> None:
        """Run the command of the clicked label."""
        row = self._rows[event.y] if event.y < len(self._rows) else []
        for label in row:
            if label.start <= event.x < label.start + label.width:
                await self.app.run_action(label.offered.command.action, label.offered.node)

    def _look(self, _: object) -> None:
        if not self.is_attached or self.app.screen is not self.screen:
            return
        keys = key_names(self.screen)
        can = [
            one for one in available_commands(self.screen) if one.command.in_footer or one.command.id in self._besides
        ]
        can.sort(key=lambda one: one.command.id not in self._besides)
        shown = [(keys.get(one.command.id), one) for one in can]
        self._shown = [(reached[0], one) for reached, one in shown if reached]
        self._rows = _laid_out(self._shown, self.size.width)
        self.refresh()


def _laid_out(shown: Sequence[tuple[str, AvailableCommand]], width: int) -> list[list[_Label]]:
    """The labels in two rows of `width` cells: with their titles, or all with short ones if those do not fit.

    Labels that do not fit are left out; help and command line have them all. The last three, the way back, the command
    line and the help, are always shown.
    """
    always, rest = shown[-_ALWAYS:], list(shown[:-_ALWAYS])
    rows = list(_rows(shown, width, is_short=False))
    while len(rows) > _LINES:
        rows = list(_rows((*rest, *always), width, is_short=True))
        if not rest:
            break
        rest.pop()
    return rows[:_LINES]


def _rows(shown: Sequence[tuple[str, AvailableCommand]], width: int, *, is_short: bool) -> Iterator[list[_Label]]:
    row: list[_Label] = []
    at = 1
    for key, one in shown:
        title = (one.command.short if is_short else "") or one.command.title
        label = _Label(at, key, title, one)
        if at + label.width > width and row:
            yield row
            row, label = [], _Label(1, key, title, one)
        row.append(label)
        at = label.start + label.width + (1 if is_short else 2)
    yield row
