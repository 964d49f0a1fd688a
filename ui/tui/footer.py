"""The keys of this moment in two lines at the bottom; each can be clicked."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from ui.tui.commands import AvailableCommand, available_commands, key_names
from ui.tui.palette import paint_of
from ui.views.styled_text import Style, cell_width

_LINES = 2
_ALWAYS = 3


class _Label(Struct, frozen=True):
    """A command in the footer: where its cells begin, and what they say."""

    start: int
    key: str
    title: str
    offered: AvailableCommand

    @property
    def width(self) -> int:
        return cell_width(self.key) + 1 + cell_width(self.title)


class KeyFooter(Widget):
    """Two lines of keys for what has the focus; `H` hides them."""

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
        """The ids of commands that are worth a place at the head of the footer for what is shown just now."""
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
        """Another width holds other labels, also while a dialog lies above."""
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
        """Do what the label says."""
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
    """The labels in two rows of `width` cells: by their titles, or all by their short ones where those do not fit.

    What fits into neither row is left to help and command line. The last three, the way back, the command line and the
    help, always have their place.
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
