"""The terminal debugger as an application: its themes, its keys, and which screen is opened by what."""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen

from inspector.errors import WeaklinkError
from ui.tui.chains.chain_list import ChainList
from ui.tui.chains.commands import CHAIN_COMMANDS
from ui.tui.chains.filter_bar import FILTER_COMMANDS
from ui.tui.chains.screen import ChainsScreen
from ui.tui.command_palette import OfferedCommands
from ui.tui.commands import Command, bindings, key_names, offered
from ui.tui.diff.commands import DIFF_COMMANDS
from ui.tui.dissector.commands import DISSECTOR_COMMANDS, SIDE_COMMANDS, STREAM_COMMANDS, TREE_COMMANDS
from ui.tui.dissector.screen import DissectorScreen
from ui.tui.doors import FurtherScreens
from ui.tui.footer import KeyFooter
from ui.tui.help_screen import HelpScreen
from ui.tui.imports.commands import IMPORT_COMMANDS
from ui.tui.keymap import keymap_path, read_keymap
from ui.tui.lab.commands import LAB_COMMANDS
from ui.tui.line_commands import LINE_COMMANDS
from ui.tui.line_view import settled
from ui.tui.live.commands import LIVE_COMMANDS
from ui.tui.palette import THEMES, chosen_theme, themes
from ui.tui.rules.commands import RULE_COMMANDS
from ui.tui.store_access import StoreAccess
from ui.tui.work import begin
from ui.views.links import Link, read_link
from ui.views.visible import visible_line

APP_COMMANDS = (
    Command(
        "app.commands", "Commands", "Lists everything that can be done here, to be found by name.", (":", "ctrl+p")
    ),
    Command("app.help", "Help", "Explains the keys of what has the focus.", ("?", "f1"), in_footer=True),
    Command("app.keys", "Keys", "Shows or hides the two lines of keys at the bottom.", ("H",)),
    Command("app.theme", "Theme", "Takes the next theme: dark, light, the terminal's own colours.", ("T",)),
    Command("app.leave", "Quit", "Ends weaklink from anywhere.", ("ctrl+q",)),
)
"""The scope `app`: they work everywhere."""


class WeaklinkApp(App[None]):
    """Shows the traces of a database; `trace`, an id or a link, is opened at once, and `wanted` filters from the start.

    Raises LinkError for a link that cannot be read.
    """

    TITLE = "weaklink"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {OfferedCommands}  # noqa: RUF012  # Textual declares it so
    ACTIONS: ClassVar[tuple[Command, ...]] = APP_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(APP_COMMANDS)]
    CSS = """
    ToastRack { margin-bottom: 3; }
    Toast { padding: 0 1; margin-top: 0; max-width: 80%; }
    """  # above the keys at the bottom, and above the dissector's line on the place

    def __init__(
        self, where: str | None = None, *, trace: str | None = None, wanted: str = "", theme: str = "auto"
    ) -> None:
        name = chosen_theme(theme)  # before Textual takes NO_COLOR out of the environment
        super().__init__(ansi_color=True if name == "ansi" else None)
        for one in themes():
            self.register_theme(one)
        self.theme = name
        self._access = StoreAccess(where)
        self._further = FurtherScreens(self, self._access, self.open_trace, self._show_chains)
        self._chains = ChainsScreen(self._access, self.open_trace, wanted=wanted, doors=self._further.of_chains())
        self._first = read_link(trace) if trace is not None else None

    async def on_mount(self) -> None:
        """Begin with the list; a trace that was named lies above it."""
        keymap = read_keymap(keymap_path(), every_command())
        self.set_keymap(dict(keymap.keys))
        await self.push_screen(self._chains)
        for problem in keymap.problems:
            self.notify(visible_line(problem), title="keymap", severity="warning", timeout=20, markup=False)
        if self._first is not None:
            begin(self, partial(self._open_named, self._first), "open")

    def open_trace(self, id: int, step: int | None = None, link: Link | None = None) -> None:
        """Open a trace, where a link leads, on a step (from 1) or, without both, on its break."""
        doors = self._further.of_trace()
        self.push_screen(DissectorScreen(self._access, id, step=step, link=link, siblings=self._chains, doors=doors))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Say something for a moment, as it is written, whoever says it: much of it quotes a trace."""
        shown, head = settled(visible_line(message)), visible_line(title)
        super().notify(shown, title=head, severity=severity, timeout=timeout, markup=False)

    def on_notify(self, event: Notify) -> None:
        """What still stands there is said anew, not twice."""
        said = event.notification
        for one in list(self._notifications):
            if (one.message, one.title, one.severity) == (said.message, said.title, said.severity):
                self._unnotify(one, refresh=False)

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do what a key says; where its screen is still being made, once it is there: fast fingers lose no key."""
        screen = default_namespace
        if isinstance(screen, Screen) and not screen.is_mounted:
            screen.call_later(super().run_action, action, screen, namespaces)
            return True
        return await super().run_action(action, default_namespace, namespaces)

    def action_commands(self) -> None:
        """List what can be done here."""
        self.action_command_palette()

    def action_help(self) -> None:
        """Explain the keys of what has the focus."""
        if isinstance(self.screen, HelpScreen):
            return
        commands = [one.command for one in offered(self.screen)]
        self.push_screen(HelpScreen(commands, key_names(self.screen)))

    def action_keys(self) -> None:
        """Show or hide the keys at the bottom."""
        for footer in self.screen.query(KeyFooter):
            footer.display = not footer.display

    def action_theme(self) -> None:
        """Take the next theme."""
        at = THEMES.index(self.theme) if self.theme in THEMES else 0
        self.theme = THEMES[(at + 1) % len(THEMES)]

    def action_help_quit(self) -> None:
        """Say how one gets out, to whoever expects ctrl+c to do it."""
        (key, *_) = key_names(self.screen).get("app.leave", ("ctrl+q",))
        self.notify(f"`{key}` ends weaklink from anywhere.")

    def action_leave(self) -> None:
        """End weaklink."""
        self.exit()

    def _show_chains(self, wanted: str | None) -> None:
        """Go back to the list, with this filter; None only reads it anew."""
        while wanted is not None and self.screen is not self._chains:
            self.pop_screen()
        self._chains.load(self._chains.wanted if wanted is None else wanted)

    async def _open_named(self, named: Link) -> None:
        try:
            summary = await self._access.ask(lambda store: store.summary(named.trace))
        except WeaklinkError as error:
            self.notify(visible_line(str(error)), severity="error", markup=False)
        else:
            self.open_trace(summary.id, summary.broken.step if summary.broken else None, named)


def every_command() -> tuple[Command, ...]:
    """Every command of every screen: what a keymap can give keys to."""
    screens = (CHAIN_COMMANDS, ChainList.ACTIONS, FILTER_COMMANDS, LINE_COMMANDS, HelpScreen.ACTIONS, APP_COMMANDS)
    panes = (TREE_COMMANDS, STREAM_COMMANDS, SIDE_COMMANDS, DISSECTOR_COMMANDS)
    further = (DIFF_COMMANDS, IMPORT_COMMANDS, LAB_COMMANDS, LIVE_COMMANDS, RULE_COMMANDS)
    return tuple({command.id: command for commands in (*screens, *panes, *further) for command in commands}.values())
