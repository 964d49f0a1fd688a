"""Help for what has the focus, made from the table of its commands."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from ui.tui.commands import Command, bindings
from ui.tui.keymap import keymap_path
from ui.tui.leaving import LeftOnce
from ui.tui.line_view import Lines, LineView
from ui.views.palette import Style
from ui.views.run import Line, Run, padded
from ui.views.wording import quoted, wrapped

CLOSE = Command("dialog.close", "Close", "Closes what lies above the screen, and changes nothing.", ("escape", "q"))
"""The command of everything that lies above a screen."""
_KEYS = 20


def help_lines(commands: Iterable[Command], keys: Mapping[str, tuple[str, ...]], width: int) -> Iterator[Line]:
    """What the commands do, scope by scope, and by which keys; a command without one is reached by the palette."""
    scopes: dict[str, list[Command]] = {}
    for command in commands:
        scopes.setdefault(command.scope, []).append(command)
    for scope, group in scopes.items():
        yield (Run(scope, Style.STRONG),)
        for command in group:
            reached = "  ".join(keys.get(command.id, ())) or f": {command.title}"
            lead: Line = (*padded((Run(f"  {reached}", Style.KEY),), _KEYS), Run(" "))
            for line in wrapped((Run(command.help),), width - _KEYS - 1):
                yield (*lead, *line)
                lead = (Run(" " * (_KEYS + 1)),)
        yield ()
    for line in wrapped(quoted(f"`:` finds commands by name. Other keys go into `{keymap_path()}`."), width):
        yield line


class HelpScreen(LeftOnce[None], ModalScreen[None]):
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

    def __init__(self, commands: Sequence[Command], keys: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__()
        self._commands = commands
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The lines, and how to leave them."""
        with Vertical() as box:
            box.border_title = "help"
            yield LineView()
            yield Static("esc closes", markup=False)

    def on_mount(self) -> None:
        """Let the lines be moved in."""
        self.query_one(LineView).focus()

    def on_resize(self) -> None:
        """Sentences are wrapped at the box's edge."""
        view = self.query_one(LineView)
        self.call_after_refresh(
            lambda: view.show(Lines(tuple(help_lines(self._commands, self._keys, max(view.size.width - 1, 30)))))
        )

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)
