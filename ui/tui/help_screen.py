"""Help for what has the focus, made from the table of its commands."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from ui.tui.commands import Command, bindings
from ui.tui.line_view import Lines, LineView
from ui.views.palette import Style
from ui.views.run import Line, Run, padded
from ui.views.wording import quoted

CLOSE = Command("dialog.close", "Close", "Closes what lies above the screen, and changes nothing.", ("escape", "q"))
"""The command of everything that lies above a screen."""
_KEYS, _TITLE = 22, 18


def help_lines(commands: Iterable[Command], keys: Mapping[str, tuple[str, ...]], about: str = "") -> Iterator[Line]:
    """What each scope's commands do, and by which keys; `about` says in a sentence what this is the help for."""
    if about:
        yield quoted(about)
        yield ()
    for scope, group in groupby(commands, key=lambda command: command.scope):
        yield (Run(scope, Style.STRONG),)
        for command in group:
            reached = "  ".join(keys.get(command.id, ())) or ": " + command.title
            name = padded((Run(f"  {reached}", Style.KEY),), _KEYS)
            yield (*name, Run(" "), *padded((Run(command.title),), _TITLE), Run(f" {command.help}", Style.DIM))
        yield ()
    yield quoted("Keys are changed in `keymap.toml` by the names that the command palette shows (`:`).")


class HelpScreen(ModalScreen[None]):
    """Shows help over the screen it is about."""

    ACTIONS: ClassVar[tuple[Command, ...]] = (CLOSE,)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ACTIONS)]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Vertical {
        width: 90%; max-width: 120; height: 90%;
        background: $background; border: round $border; padding: 0 1;
    }
    HelpScreen Static { height: 1; color: $dim; }
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        super().__init__()
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        """The lines, and how to leave them."""
        with Vertical() as box:
            box.border_title = "help"
            yield LineView()
            yield Static("esc closes", markup=False)

    def on_mount(self) -> None:
        """Show the lines."""
        view = self.query_one(LineView)
        view.show(Lines(self._lines), content_width=max(sum(len(run.text) for run in line) for line in self._lines))
        view.focus()

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)
