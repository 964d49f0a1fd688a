"""Fixed lines on a screen: heads, counts, messages with clickable cells, the status line, and the keys below."""

from collections.abc import Sequence

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style as VisualStyle
from textual.timer import Timer
from textual.widget import Widget

from weaklink.ui.tui.commands import AvailableCommand, available_commands, key_names
from weaklink.ui.tui.line_view import content_of, visual_style
from weaklink.ui.tui.palette import paint_of
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, padded, visible_line, width_of

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PERIOD_S = 0.12
_SEPARATOR = Run(" ▸ ", Style.DIM)
_MIN_CRUMB_CELLS = 4  # cells of a crumb that is truncated
_MAX_ROWS = 2
_ALWAYS_SHOWN = 3
_TARGET = "target"  # the key of a click target in the meta data of its style


class ClickTarget(Struct, frozen=True):
    """Cells of the first line that can be clicked; `name` identifies them."""

    name: str
    line: Line


class LineBar(Widget):
    """Shows lines, each truncated with `…` at the screen's edge; with the class `wrapped`, wrapped there."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineBar {
        height: 1; background: $background; color: $foreground;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    LineBar.wrapped { height: auto; min-height: 1; text-wrap: wrap; }
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

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: Sequence[Line] = ()
        self._targets: Sequence[ClickTarget] = ()
        self._gap = 0

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; nothing in them can be clicked."""
        if self._targets or lines != self._lines:
            self._lines, self._targets = lines, ()
            self.refresh(layout=self.styles.auto_dimensions)

    def offer(self, targets: Sequence[ClickTarget], gap: int = 2) -> None:
        """Show click targets side by side, `gap` spaces apart."""
        if (targets, gap) != (self._targets, self._gap):
            self._targets, self._gap = targets, gap
            self.refresh()

    def render(self) -> Content:
        """The lines, or the click targets."""
        paint = paint_of(self.app)
        if not self._targets:
            return Content("\n").join(content_of(line, paint) for line in self._lines)
        cells = (
            content_of(target.line, paint).stylize(VisualStyle.from_meta({_TARGET: target.name}))
            for target in self._targets
        )
        return Content(" ").join((Content(), Content(" " * self._gap).join(cells)))

    def on_click(self, event: events.Click) -> None:
        """Post which click target was clicked."""
        name = event.style.meta.get(_TARGET)
        if name is not None:
            self.post_message(self.Pressed(self, name))


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

    def render(self) -> Content:
        """The line."""
        return content_of(self._line(self.size.width), paint_of(self.app))

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
            crumbs[longest] = clipped(crumbs[longest], max(widths[longest] - beyond, _MIN_CRUMB_CELLS))
        return tuple(run for crumb in crumbs for run in (_SEPARATOR, *crumb))[1:]

    def _turn(self) -> None:
        self._frame = (self._frame + 1) % len(_FRAMES)
        self.refresh()


class KeyFooter(Widget):
    """Two lines of keys for the focused widget; `H` hides them."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter { height: 2; dock: bottom; background: $surface; color: $foreground; text-wrap: nowrap; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._priority_commands: frozenset[str] = frozenset()
        self._shown: list[tuple[str, AvailableCommand]] = []

    @property
    def priority_commands(self) -> frozenset[str]:
        """The ids of commands to show first in the footer, for what is shown now."""
        return self._priority_commands

    @priority_commands.setter
    def priority_commands(self, ids: frozenset[str]) -> None:
        if ids != self._priority_commands:
            self._priority_commands = ids
            self._update(None)

    def on_mount(self) -> None:
        """Follow the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._update)
        self._update(None)

    def render(self) -> Content:
        """The labels in two rows: with their titles, or all with short ones if those do not fit.

        Labels that do not fit are left out; help and command line have them all. The last three, the way back, the
        command line and the help, are always shown.
        """
        width, labels = self.size.width, self._labels(is_short=False)
        rows = _rows(labels, width, gap=2)
        if len(rows) > _MAX_ROWS:
            labels = self._labels(is_short=True)
            rows = _rows(labels, width, gap=1)
        while len(rows) > _MAX_ROWS and len(labels) > _ALWAYS_SHOWN:
            del labels[-_ALWAYS_SHOWN - 1]
            rows = _rows(labels, width, gap=1)
        return Content("\n").join(rows[:_MAX_ROWS])

    async def on_click(self, event: events.Click) -> None:
        """Run the command of the clicked label."""
        number = event.style.meta.get(_TARGET)
        if number is not None:
            _, offered = self._shown[number]
            await self.app.run_action(offered.command.action, offered.node)

    def _update(self, _: object) -> None:
        if not self.is_attached or self.app.screen is not self.screen:
            return
        keys, first = key_names(self.screen), self._priority_commands
        offered = [
            available
            for available in available_commands(self.screen)
            if available.command.id in keys and (available.command.footer or available.command.id in first)
        ]
        offered.sort(key=lambda available: available.command.id not in first)
        shown = [(keys[available.command.id][0], available) for available in offered]
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def _labels(self, *, is_short: bool) -> list[Content]:
        key_style = visual_style(paint_of(self.app).of[Style.KEY])
        labels = []
        for number, (key, available) in enumerate(self._shown):
            title = (available.command.footer if is_short else "") or available.command.title
            label = Content.assemble((key, key_style), f" {title}")
            labels.append(label.stylize(VisualStyle.from_meta({_TARGET: number})))
        return labels


def _rows(labels: Sequence[Content], width: int, gap: int) -> list[Content]:
    """The labels, `gap` spaces apart, in as many rows of `width` cells as they need."""
    rows = [Content(" ")]
    for label in labels:
        is_begun = rows[-1].cell_length > 1
        if is_begun and rows[-1].cell_length + gap + label.cell_length > width:
            rows.append(Content(" "))
            is_begun = False
        rows[-1] = rows[-1] + Content(" " * gap * is_begun) + label
    return rows
