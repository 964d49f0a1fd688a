"""The terminal debugger as an application: its themes, its keys, its command palette, and which screen opens what."""

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

from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from ui.tui.chains.actions import ChainCallbacks
from ui.tui.chains.chain_list import ChainList
from ui.tui.chains.filter_bar import FILTER_COMMANDS
from ui.tui.chains.screen import CHAIN_COMMANDS, ChainsScreen
from ui.tui.command_line import CommandDestinations, CommandLine, LineCommands
from ui.tui.commands import (
    LINE_COMMANDS,
    AvailableCommand,
    Command,
    available_commands,
    bindings,
    key_names,
    keymap_path,
    read_keymap,
)
from ui.tui.dialogs import HelpScreen
from ui.tui.diff_screen import DIFF_COMMANDS, DiffScreen, chosen_runs
from ui.tui.dissector.actions import TraceCallbacks
from ui.tui.dissector.commands import DISSECTOR_COMMANDS, SIDE_COMMANDS, STREAM_COMMANDS, TREE_COMMANDS
from ui.tui.dissector.screen import DissectorScreen
from ui.tui.import_screen import IMPORT_COMMANDS, ImportScreen
from ui.tui.lab_screen import LAB_COMMANDS, LabScreen
from ui.tui.line_bar import KeyFooter
from ui.tui.line_view import fit_cell_width
from ui.tui.live_screen import LIVE_COMMANDS, LiveScreen, newest_running
from ui.tui.palette import THEMES, chosen_theme, themes
from ui.tui.rules_screen import RULE_COMMANDS, RulesScreen
from ui.tui.store_access import StoreAccess, error_sentence, start_work
from ui.views.links import Link, read_link
from ui.views.styled_text import visible_line

APP_COMMANDS = (
    Command(
        "app.line",
        "Command",
        "Run a typed command, such as `export html` or `goto 12`.",
        (":",),
        in_footer=True,
        short="Run",
    ),
    Command("app.commands", "Commands", "List all commands available here, searchable by name.", ("ctrl+p",)),
    Command("app.help", "Help", "Explain the keys of what has the focus.", ("?", "f1"), in_footer=True),
    Command("app.keys", "Keys", "Show or hides the two lines of keys at the bottom.", ("H",)),
    Command("app.theme", "Theme", "Cycle the themes: dark, light, the terminal's own colours.", ("T",)),
    Command("app.leave", "Quit", "Quit weaklink from anywhere.", ("ctrl+q",)),
)
"""The scope `app`: they work everywhere."""

_MMAP_THRESHOLD = -3  # glibc's malloc.h
_LARGE = 1 << 20


class CommandPaletteProvider(Provider):
    """Offers the commands of the focused scope and of those around it."""

    async def startup(self) -> None:
        """See what is on offer."""
        self._offered = list(available_commands(self.screen))
        self._keys = key_names(self.screen)

    async def discover(self) -> Hits:
        """Everything that is on offer."""
        for one in self._offered:
            yield DiscoveryHit(self._shown(one), partial(self._run, one), help=one.command.help)

    async def search(self, query: str) -> Hits:
        """What is on offer under such a name, or does such a thing."""
        matcher = self.matcher(query)
        for one in self._offered:
            words = f"{one.command.title} {one.command.id} {one.command.help}"
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, self._shown(one), partial(self._run, one), text=words, help=one.command.help)

    def _shown(self, one: AvailableCommand) -> Content:
        keys = " ".join(self._keys.get(one.command.id, ()))
        return Content.assemble(one.command.title, (f"  {keys}  {one.command.id}", "$text-muted"))

    async def _run(self, one: AvailableCommand) -> None:
        await self.app.run_action(one.command.action, one.node)


class WeaklinkApp(App[None]):
    """Shows the traces of a database; `trace`, an id or a link, is opened at once; `filter_text` is the first filter.

    `against` is the id of a trace that the opened one is compared with at once.

    Raises LinkError for a link that cannot be read.
    """

    TITLE = "weaklink"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+backslash"  # Textual's own binding, which would hide `app.commands`
    COMMANDS = {CommandPaletteProvider}  # noqa: RUF012  # Textual declares it so
    ACTIONS: ClassVar[tuple[Command, ...]] = APP_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(APP_COMMANDS)]
    CSS = """
    ToastRack { margin-bottom: 0; overflow-y: hidden; }
    Toast { width: auto; max-width: 100%; max-height: 2; padding: 0 1; margin-top: 0; }
    """  # over the two lines of keys: a toast covers nothing of a trace

    def __init__(
        self,
        where: str | None = None,
        *,
        trace: str | None = None,
        against: str | None = None,
        filter_text: str = "",
        theme: str = "auto",
    ) -> None:
        name = chosen_theme(theme)  # before Textual takes NO_COLOR out of the environment
        super().__init__(ansi_color=True if name == "ansi" else None)
        for one in themes():
            self.register_theme(one)
        self.theme = name
        self._access = StoreAccess(where)
        self._further = ScreenOpener(self, self._access, self.open_trace, self._show_chains)
        self._chains = ChainsScreen(
            self._access, self.open_trace, filter_text=filter_text, callbacks=self._further.of_chains()
        )
        destinations = CommandDestinations(
            trace=lambda link: start_work(self, partial(self._open_named, link), "open"),
            diff=self._further.diff_of,
            ask=self._further.ask,
            show_list=self._show_chains,
        )
        self._line = LineCommands(self, self._access, self._chains, destinations)
        self._first = read_link(trace) if trace is not None else None
        self._against = against

    async def on_mount(self) -> None:
        """Begin with the list; a trace that was named is above it."""
        keymap = read_keymap(keymap_path(), every_command())
        self.set_keymap(dict(keymap.keys))
        await self.push_screen(self._chains)
        if keymap.problems:
            self.notify(" ".join(map(visible_line, keymap.problems)), severity="warning", timeout=20, markup=False)
        if self._first is not None:
            start_work(self, partial(self._open_named, self._first), "open")

    def open_trace(self, id: int, step: int | None = None, link: Link | None = None, words: str = "") -> None:
        """Open a trace, where a link leads, on a step (from 1) or, without both, on its break.

        `words` are those that `n` finds next in it.
        """
        callbacks = self._further.of_trace()
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
        """Say something for a moment, as it is written, whoever says it: much of it quotes a trace."""
        shown, head = fit_cell_width(visible_line(message)), visible_line(title)
        super().notify(shown, title=head, severity=severity, timeout=timeout, markup=False)

    def on_notify(self, event: Notify) -> None:
        """Replace the toast before: there is room for one, over the keys."""
        for one in list(self._notifications):
            if one is not event.notification:
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

    def action_line(self) -> None:
        """Open the command line."""
        if not self.screen.is_modal:
            self._line.open()

    def action_commands(self) -> None:
        """List what can be done here."""
        self.action_command_palette()

    def action_help(self) -> None:
        """Explain the keys of what has the focus."""
        if isinstance(self.screen, HelpScreen):
            return
        commands = [one.command for one in available_commands(self.screen)]
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

    def _show_chains(self, filter_text: str | None) -> None:
        """Go back to the list, with this filter; None only reads it again."""
        while filter_text is not None and self.screen is not self._chains:
            self.pop_screen()
        self._chains.load(self._chains.filter_text if filter_text is None else filter_text)

    async def _open_named(self, named: Link) -> None:
        against = self._against
        try:
            summary = await self._access.ask(lambda store: store.summary(named.trace))
            other = await self._access.ask(lambda store: store.summary(against)) if against is not None else None
        except WeaklinkError as error:
            self.notify(visible_line(str(error)), severity="error", markup=False)
        else:
            self.open_trace(summary.id, summary.broken.step if summary.broken else None, named)
            if other is not None and other.id != summary.id:
                self.push_screen(DiffScreen(self._access, (other.id, summary.id), self.open_trace))


def every_command() -> tuple[Command, ...]:
    """Every command of every screen: what a keymap can give keys to."""
    screens = (CHAIN_COMMANDS, ChainList.ACTIONS, FILTER_COMMANDS, LINE_COMMANDS, HelpScreen.ACTIONS, APP_COMMANDS)
    panes = (TREE_COMMANDS, STREAM_COMMANDS, SIDE_COMMANDS, DISSECTOR_COMMANDS)
    further = (DIFF_COMMANDS, IMPORT_COMMANDS, LAB_COMMANDS, LIVE_COMMANDS, RULE_COMMANDS, CommandLine.ACTIONS)
    return tuple({command.id: command for commands in (*screens, *panes, *further) for command in commands}.values())


OpenTrace = Callable[[int, int | None], None]
"""Opens a trace on a step."""

ShowChains = Callable[[str | None], None]
"""Shows the list with a filter, above all else; with None, what is new in it, wherever it is."""


class ScreenOpener:
    """Opens diff, lab, live view, rules and import over what is on the screen of an application."""

    def __init__(self, app: App[Any], access: StoreAccess, open_trace: OpenTrace, show_chains: ShowChains) -> None:
        self._app = app
        self._access = access
        self._open_trace = open_trace
        self._show_chains = show_chains

    def of_chains(self) -> ChainCallbacks:
        """What the list can open."""
        return ChainCallbacks(
            diff=self.diff, reread=self.reread, live=self.live, rules=self.rules, read_in=self.read_in
        )

    def of_trace(self) -> TraceCallbacks:
        """What a trace can open."""
        return TraceCallbacks(diff=self.diff, reread=self.reread, rule=self.rules, live=self.live_above, ask=self.ask)

    def diff(self, id: int, place: Location | None = None) -> None:
        """Compare a trace with the marked ones."""
        start_work(self._app, partial(self._diff, id), "diff")

    def diff_of(self, ids: Sequence[int]) -> None:
        """Compare these traces."""
        self._push(DiffScreen(self._access, ids, self._open_trace))

    def reread(self, id: int, place: Location | None = None) -> None:
        """Read the stream of a trace again: at a place, else where it broke."""
        self._push(LabScreen(self._access, id, place))

    def ask(self, id: int, turn: int | None = None) -> None:
        """Ask a turn of a trace again, or serve the trace."""
        from ui.tui.ask_screen import AskScreen  # noqa: PLC0415  # its proxy and recorder load only where they are used

        self._push(AskScreen(self._access, id, turn))

    def rules(self, code: str = "") -> None:
        """List the rules, with the cursor on one."""
        self._push(RulesScreen(self._access, self._show_chains, code))

    def live(self, id: int | None = None) -> None:
        """Watch a running trace, the newest where none is named; once it has ended, open it."""
        start_work(self._app, partial(self._live, id), "live")

    def live_above(self, id: int) -> None:
        """Watch a running trace above the screen that shows it."""
        self._push(LiveScreen(self._access, id, lambda _: None))

    async def _live(self, id: int | None) -> None:
        try:
            found = id if id is not None else await self._access.ask(newest_running)
        except WeaklinkError as error:
            self._toast(error_sentence(error, self._access.name), is_error=True)
            return
        if found is None:
            self._toast("Nothing is being recorded now. `weaklink record` and the logger record into this database.")
        else:
            self._push(LiveScreen(self._access, found, lambda ended: self._open_trace(ended, None)))

    def read_in(self) -> None:
        """Ask for files to import; the list shows what came in by itself."""
        self._push(ImportScreen(self._access.where, self._access.name, lambda: self._show_chains(None)))

    async def _diff(self, id: int) -> None:
        try:
            runs = await self._access.ask(partial(chosen_runs, id=id))
        except WeaklinkError as error:
            self._toast(error_sentence(error, self._access.name), is_error=True)
            return
        if runs.said:
            self._toast(runs.said)
        if len(runs.ids) > 1:
            self._push(DiffScreen(self._access, runs.ids, self._open_trace))

    def _push(self, screen: Screen[Any]) -> None:
        self._app.push_screen(screen)

    def _toast(self, said: str, *, is_error: bool = False) -> None:
        self._app.notify(visible_line(said), severity="error" if is_error else "information", markup=False)


def tune_memory() -> None:
    """To be called once, when everything is imported and nothing has been read yet.

    Blocks of a megabyte go back to the system as soon as they are free: glibc would keep those that were let go of
    for later, and copy a text that grows from place to place. The collector no longer looks through what was imported,
    which took it 100 ms now and then, in the middle of a key.
    """
    gc.collect()
    gc.freeze()
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _LARGE)
