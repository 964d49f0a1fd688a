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
from ui.tui.lab.screen import LabScreen
from ui.tui.rules.screen import RulesScreen
from ui.tui.store_access import StoreAccess, sentence
from ui.tui.work import begin
from ui.views.visible import visible_line

OpenTrace = Callable[[int, int | None], None]
"""Opens a trace on a step."""
ShowChains = Callable[[str], None]
"""Goes back to the list, with a filter."""


class FurtherScreens:
    """Opens diff, lab, live view, rules and import over what is on the screen of an application."""

    def __init__(self, app: App[Any], access: StoreAccess, open_trace: OpenTrace, show_chains: ShowChains) -> None:
        self._app = app
        self._access = access
        self._open_trace = open_trace
        self._show_chains = show_chains

    def of_chains(self) -> ChainDoors:
        """What the list can open."""
        return ChainDoors(diff=self.diff, reread=self.reread, rules=self.rules)

    def of_trace(self) -> Doors:
        """What a trace can open."""
        return Doors(diff=self.diff, reread=self.reread, rule=self.rules)

    def diff(self, id: int, place: Location | None = None) -> None:
        """Compare a trace with the marked ones."""
        begin(self._app, partial(self._diff, id), "diff")

    def reread(self, id: int, place: Location | None = None) -> None:
        """Read the stream of a trace again: at a place, else where it broke."""
        self._push(LabScreen(self._access, id, place))

    def rules(self, code: str = "") -> None:
        """List the rules, with the cursor on one."""
        self._push(RulesScreen(self._access, self._show_chains, code))

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
