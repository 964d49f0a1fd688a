"""What opens the screens above the list and above a trace: for whoever has a trace to show there."""

from collections.abc import Callable
from functools import partial
from typing import Any

from textual.app import App
from textual.screen import Screen

from inspector.diagnostics import Location
from inspector.errors import WeaklinkError
from ui.tui.chains.opening import ChainDoors
from ui.tui.diff.runs import chosen_runs
from ui.tui.diff.screen import DiffScreen
from ui.tui.dissector.deeds import Doors
from ui.tui.imports.screen import ImportScreen
from ui.tui.lab.screen import LabScreen
from ui.tui.live.screen import LiveScreen, newest_running
from ui.tui.rules.screen import RulesScreen
from ui.tui.store_access import StoreAccess, sentence
from ui.tui.work import begin
from ui.views.visible import visible_line

OpenTrace = Callable[[int, int | None], None]
"""Opens a trace on a step."""
ShowChains = Callable[[str | None], None]
"""Shows the list with a filter, above all else; with None, what is new in it, wherever it is."""


class FurtherScreens:
    """Opens diff, lab, live view, rules and import over what is on the screen of an application."""

    def __init__(self, app: App[Any], access: StoreAccess, open_trace: OpenTrace, show_chains: ShowChains) -> None:
        self._app = app
        self._access = access
        self._open_trace = open_trace
        self._show_chains = show_chains

    def of_chains(self) -> ChainDoors:
        """What the list can open."""
        return ChainDoors(diff=self.diff, reread=self.reread, live=self.live, rules=self.rules, read_in=self.read_in)

    def of_trace(self) -> Doors:
        """What a trace can open."""
        return Doors(diff=self.diff, reread=self.reread, rule=self.rules, live=self.live_above)

    def diff(self, id: int, place: Location | None = None) -> None:
        """Compare a trace with the marked ones."""
        begin(self._app, partial(self._diff, id), "diff")

    def reread(self, id: int, place: Location | None = None) -> None:
        """Read the stream of a trace again: at a place, else where it broke."""
        self._push(LabScreen(self._access, id, place))

    def rules(self, code: str = "") -> None:
        """List the rules, with the cursor on one."""
        self._push(RulesScreen(self._access, self._show_chains, code))

    def live(self, id: int | None = None) -> None:
        """Watch a running trace, the newest where none is named; once it has ended, open it."""
        begin(self._app, partial(self._live, id), "live")

    def live_above(self, id: int) -> None:
        """Watch a running trace above the screen that shows it."""
        self._push(LiveScreen(self._access, id, lambda _: None))

    async def _live(self, id: int | None) -> None:
        try:
            found = id if id is not None else await self._access.ask(newest_running)
        except WeaklinkError as error:
            self._tell(sentence(error, self._access.name), is_error=True)
            return
        if found is None:
            self._tell("Nothing is being recorded now. `weaklink record` and the logger record into this database.")
        else:
            self._push(LiveScreen(self._access, found, lambda ended: self._open_trace(ended, None)))

    def read_in(self) -> None:
        """Ask for files to import; the list shows what came in by itself."""
        self._push(ImportScreen(self._access.where, self._access.name, lambda: self._show_chains(None)))

    async def _diff(self, id: int) -> None:
        try:
            runs = await self._access.ask(partial(chosen_runs, id=id))
        except WeaklinkError as error:
            self._tell(sentence(error, self._access.name), is_error=True)
            return
        if runs.said:
            self._tell(runs.said)
        if len(runs.ids) > 1:
            self._push(DiffScreen(self._access, runs.ids, self._open_trace))

    def _push(self, screen: Screen[Any]) -> None:
        self._app.push_screen(screen)

    def _tell(self, said: str, *, is_error: bool = False) -> None:
        self._app.notify(visible_line(said), severity="error" if is_error else "information", markup=False)
