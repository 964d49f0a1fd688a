"""The application of the terminal debugger: themes, keys, command palette, and which screen opens which."""

import ctypes
import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen

from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.tui.chains.actions import ChainCallbacks
from weaklink.ui.tui.chains.chain_list import ChainList
from weaklink.ui.tui.chains.filter_bar import FILTER_COMMANDS
from weaklink.ui.tui.chains.screen import CHAIN_COMMANDS, ChainsScreen
from weaklink.ui.tui.command_line import CommandDestinations, CommandLine, LineCommands
from weaklink.ui.tui.commands import (
    LINE_COMMANDS,
    AvailableCommand,
    Command,
    available_commands,
    bindings,
    key_names,
    keymap_path,
    read_keymap,
)
from weaklink.ui.tui.dialogs import HelpScreen, show_toast
from weaklink.ui.tui.diff_screen import DIFF_COMMANDS, DiffScreen, chosen_runs
from weaklink.ui.tui.dissector.actions import TraceCallbacks
from weaklink.ui.tui.dissector.commands import DISSECTOR_COMMANDS, SIDE_COMMANDS, STREAM_COMMANDS, TREE_COMMANDS
from weaklink.ui.tui.dissector.screen import DissectorScreen
from weaklink.ui.tui.import_screen import IMPORT_COMMANDS, ImportScreen
from weaklink.ui.tui.lab_screen import LAB_COMMANDS, LabScreen
from weaklink.ui.tui.line_bar import KeyFooter
from weaklink.ui.tui.line_view import fit_cell_width
from weaklink.ui.tui.live_screen import LIVE_COMMANDS, LiveScreen, newest_running
from weaklink.ui.tui.palette import THEMES, chosen_theme, themes
from weaklink.ui.tui.rules_screen import RULE_COMMANDS, RulesScreen
from weaklink.ui.tui.store_access import StoreAccess, error_sentence, start_work
from weaklink.ui.views.links import Link, read_link
from weaklink.ui.views.styled_text import visible_line

APP_COMMANDS = (
    Command("app.line", "Command", "Run a typed command, such as `export html` or `goto 12`.", (":",), footer="Run"),
    Command("app.commands", "Commands", "List all commands available here, searchable by name.", ("ctrl+p",)),
    Command("app.help", "Help", "Explain the keys of the focused pane.", ("?", "f1"), footer="Help"),
    Command("app.keys", "Keys", "Show or hide the two lines of keys at the bottom.", ("H",)),
    Command("app.theme", "Theme", "Cycle the themes: dark, light, the terminal's own colours.", ("T",)),
    Command("app.leave", "Quit", "Quit weaklink from anywhere.", ("ctrl+q",)),
)
"""The scope `app`: commands that work everywhere."""

_MMAP_THRESHOLD = -3  # glibc's malloc.h
_LARGE = 1 << 20


class CommandPaletteProvider(Provider):
    """Offers the commands of the focused scope and of those around it."""

    async def startup(self) -> None:
        """Collect the available commands."""
        self._available = list(available_commands(self.screen))
        self._keys = key_names(self.screen)

    async def discover(self) -> Hits:
        """All available commands."""
        for available in self._available:
            yield DiscoveryHit(self._shown(available), partial(self._run, available), help=available.command.help)

    async def search(self, query: str) -> Hits:
        """The available commands whose title, id or help match."""
        matcher = self.matcher(query)
        for available in self._available:
            words = f"{available.command.title} {available.command.id} {available.command.help}"
            score = matcher.match(words)
            if score > 0:
                yield Hit(
                    score,
                    self._shown(available),
                    partial(self._run, available),
                    text=words,
                    help=available.command.help,
                )

    def _shown(self, available: AvailableCommand) -> Content:
        keys = " ".join(self._keys.get(available.command.id, ()))
        return Content.assemble(available.command.title, (f"  {keys}  {available.command.id}", "$text-muted"))

    async def _run(self, available: AvailableCommand) -> None:
        await self.app.run_action(available.command.action, available.node)


class WeaklinkApp(App[None]):
    """Shows the traces of a database. `trace`, an id or a link, is opened at start; `filter_text` is the first filter.

    `against` is the id of a trace to compare the opened one with at start. A database that `is_temporary` has the
    records of a file, and is deleted afterwards. `notice` is shown for a while at start.

    Raises LinkError for a link that cannot be read.
    """

    TITLE = "weaklink"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+backslash"  # Textual's own binding, which would hide `app.commands`
    COMMANDS = {CommandPaletteProvider}  # noqa: RUF012  # as Textual declares it
    ACTIONS: ClassVar[tuple[Command, ...]] = APP_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(APP_COMMANDS)]
    CSS = """
    ToastRack { margin-bottom: 2; overflow-y: hidden; }
    Toast { width: auto; max-width: 100%; max-height: 2; padding: 0 1; margin-top: 0; }
    """  # toasts are above the two lines of keys

    def __init__(
        self,
        where: str | None = None,
        *,
        trace: str | None = None,
        against: str | None = None,
        filter_text: str = "",
        theme: str = "auto",
        is_temporary: bool = False,
        notice: str = "",
    ) -> None:
        name = chosen_theme(theme)  # before Textual removes NO_COLOR from the environment
        super().__init__(ansi_color=True if name == "ansi" else None)
        for registered in themes():
            self.register_theme(registered)
        self.theme = name
        self._access = StoreAccess(where, is_temporary=is_temporary)
        self._opener = ScreenOpener(self, self._access, self.open_trace, self._show_chains)
        self._chains = ChainsScreen(
            self._access, self.open_trace, filter_text=filter_text, callbacks=self._opener.of_chains()
        )
        destinations = CommandDestinations(
            trace=lambda link: start_work(self, partial(self._open_link, link), "open"),
            diff=self._opener.diff_of,
            ask=self._opener.ask,
            show_list=self._show_chains,
        )
        self._line = LineCommands(self, self._access, self._chains, destinations)
        self._first = read_link(trace) if trace is not None else None
        self._against = against
        self._notice = notice

    async def on_mount(self) -> None:
        """Show the list, and above it the trace to open at start."""
        keymap = read_keymap(keymap_path(), every_command())
        self.set_keymap(dict(keymap.keys))
        await self.push_screen(self._chains)
        notices = [*map(visible_line, keymap.problems), *([self._notice] if self._notice else [])]
        if notices:
            self.notify(" ".join(notices), severity="warning", timeout=20, markup=False)
        if self._first is not None:
            start_work(self, partial(self._open_link, self._first), "open")

    def open_trace(self, id: int, step: int | None = None, link: Link | None = None, words: str = "") -> None:
        """Open a trace at the place of a link, on a step (from 1) or, without both, on its break.

        `words` are the words that `n` then searches for.
        """
        callbacks = self._opener.of_trace()
        screen = DissectorScreen(
            self._access, id, step=step, link=link, siblings=self._chains, callbacks=callbacks, words=words
        )
        self.push_screen(screen)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast without interpreting markup: many messages quote a trace."""
        shown, head = fit_cell_width(visible_line(message)), visible_line(title)
        super().notify(shown, title=head, severity=severity, timeout=timeout, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Replace the previous toast: there is room for only one."""
        for notification in list(self._notifications):
            if notification is not event.notification:
                self._unnotify(notification, refresh=False)

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; if its screen is not mounted yet, run it after that, so that no key is lost."""
        screen = default_namespace
        if isinstance(screen, Screen) and not screen.is_mounted:
            screen.call_later(super().run_action, action, screen, namespaces)
            return True
        return await super().run_action(action, default_namespace, namespaces)

    def action_line(self) -> None:
        """Open the command line."""
        if not self.screen.is_modal:
            self._line.open()

    def action_commands(self) -> None:
        """Open the command palette."""
        self.action_command_palette()

    def action_help(self) -> None:
        """Show the help of the focused widget and its screen."""
        if isinstance(self.screen, HelpScreen):
            return
        commands = [available.command for available in available_commands(self.screen)]
        self.push_screen(HelpScreen(commands, key_names(self.screen)))

    def action_keys(self) -> None:
        """Show or hide the keys at the bottom."""
        for footer in self.screen.query(KeyFooter):
            footer.display = not footer.display

    def action_theme(self) -> None:
        """Switch to the next theme."""
        index = THEMES.index(self.theme) if self.theme in THEMES else 0
        self.theme = THEMES[(index + 1) % len(THEMES)]

    def action_help_quit(self) -> None:
        """Show which key quits, for users who press ctrl+c."""
        (key, *_) = key_names(self.screen).get("app.leave", ("ctrl+q",))
        self.notify(f"`{key}` ends weaklink from anywhere.")

    def action_leave(self) -> None:
        """Quit weaklink."""
        self.exit()

    def _show_chains(self, filter_text: str | None) -> None:
        """Go back to the list with this filter; None only reloads the list."""
        while filter_text is not None and self.screen is not self._chains:
            self.pop_screen()
        self._chains.load(self._chains.filter_text if filter_text is None else filter_text)

    async def _open_link(self, link: Link) -> None:
        against = self._against
        try:
            summary = await self._access.query(lambda store: store.summary(link.trace))
            other = await self._access.query(lambda store: store.summary(against)) if against is not None else None
        except WeaklinkError as error:
            show_toast(self, str(error), is_error=True)
        else:
            self.open_trace(summary.id, summary.broken.step if summary.broken else None, link)
            if other is not None and other.id != summary.id:
                self.push_screen(DiffScreen(self._access, (other.id, summary.id), self.open_trace))


def every_command() -> tuple[Command, ...]:
    """Every command of every screen: a keymap can assign keys to them."""
    screens = (CHAIN_COMMANDS, ChainList.ACTIONS, FILTER_COMMANDS, LINE_COMMANDS, HelpScreen.ACTIONS, APP_COMMANDS)
    panes = (TREE_COMMANDS, STREAM_COMMANDS, SIDE_COMMANDS, DISSECTOR_COMMANDS)
    further = (DIFF_COMMANDS, IMPORT_COMMANDS, LAB_COMMANDS, LIVE_COMMANDS, RULE_COMMANDS, CommandLine.ACTIONS)
    return tuple({command.id: command for commands in (*screens, *panes, *further) for command in commands}.values())


OpenTrace = Callable[[int, int | None], None]
"""Opens a trace on a step."""

ShowChains = Callable[[str | None], None]
"""Shows the list with a filter, closing all screens above it; None only reloads the list."""


class ScreenOpener:
    """Opens diff, lab, live view, rules and import above the current screen of an application."""

    def __init__(self, app: App[Any], access: StoreAccess, open_trace: OpenTrace, show_chains: ShowChains) -> None:
        self._app = app
        self._access = access
        self._open_trace = open_trace
        self._show_chains = show_chains

    def of_chains(self) -> ChainCallbacks:
        """The callbacks for the list."""
        open_import = None if self._access.is_temporary else self.open_import
        return ChainCallbacks(
            diff=self.diff, reread=self.reread, live=self.live, rules=self.rules, open_import=open_import
        )

    def of_trace(self) -> TraceCallbacks:
        """The callbacks for a trace."""
        return TraceCallbacks(diff=self.diff, reread=self.reread, rule=self.rules, live=self.live_above, ask=self.ask)

    def diff(self, id: int, location: Location | None = None) -> None:
        """Compare a trace with the marked ones."""
        start_work(self._app, partial(self._diff, id), "diff")

    def diff_of(self, ids: Sequence[int]) -> None:
        """Compare these traces."""
        self._push(DiffScreen(self._access, ids, self._open_trace))

    def reread(self, id: int, location: Location | None = None) -> None:
        """Open the lab, which reads the stream of a trace again: at a place, else at its break."""
        self._push(LabScreen(self._access, id, location))

    def ask(self, id: int, turn: int | None = None) -> None:
        """Send the request of a turn again, or serve the trace."""
        from weaklink.ui.tui.ask_screen import AskScreen  # noqa: PLC0415  # loads the proxy and the recorder

        self._push(AskScreen(self._access, id, turn))

    def rules(self, code: str = "") -> None:
        """List the rules, with the cursor on `code`."""
        self._push(RulesScreen(self._access, self._show_chains, code))

    def live(self, id: int | None = None) -> None:
        """Watch a running trace, by default the newest; once it has ended, open it."""
        start_work(self._app, partial(self._live, id), "live")

    def live_above(self, id: int) -> None:
        """Watch a running trace above the screen that shows it."""
        self._push(LiveScreen(self._access, id, lambda _: None))

    async def _live(self, id: int | None) -> None:
        try:
            running = id if id is not None else await self._access.query(newest_running)
        except WeaklinkError as error:
            self._toast(error_sentence(error, self._access.name), is_error=True)
            return
        if running is None:
            self._toast("Nothing is being recorded now. `weaklink record` and the logger record into this database.")
        else:
            self._push(LiveScreen(self._access, running, lambda ended: self._open_trace(ended, None)))

    def open_import(self) -> None:
        """Open the import dialog; the list is reloaded after an import."""
        self._push(ImportScreen(self._access.where, self._access.name, lambda: self._show_chains(None)))

    async def _diff(self, id: int) -> None:
        try:
            runs = await self._access.query(partial(chosen_runs, id=id))
        except WeaklinkError as error:
            self._toast(error_sentence(error, self._access.name), is_error=True)
            return
        if runs.message:
            self._toast(runs.message)
        if len(runs.ids) > 1:
            self._push(DiffScreen(self._access, runs.ids, self._open_trace))

    def _push(self, screen: Screen[Any]) -> None:
        self._app.push_screen(screen)

    def _toast(self, message: str, *, is_error: bool = False) -> None:
        show_toast(self._app, message, is_error=is_error)


def tune_memory() -> None:
    """Tune memory. Call this once, when everything is imported and nothing has been read yet.

    Freed blocks of a megabyte or more return to the system at once: glibc would keep them for reuse, and would copy a
    growing text from place to place. The garbage collector no longer scans imported modules; that took 100 ms now and
    then, while the user was typing.
    """
    gc.collect()
    gc.freeze()
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _LARGE)
